# RRTCS on counts; vignettes/coming_from/rrtcs.md has the same
library(RRTCS)
options(digits = 8, width = 90)
packageVersion("RRTCS")

# A simple random sample of 1,000 of 8,000
z <- rep(0:1, c(730, 270))
Pi <- rep(1000 / 8000, 1000)
ForcedResponse(z, 1/6, 1/6, Pi, "mean", .95, N = 8000)
ForcedResponse(z, 1/6, 1/6, Pi, "total", .95)
show <- function(fit) sprintf("%.6f (%.6f)", fit$Estimation, sqrt(fit$Variance))
show(Warner(z, .8, Pi, "mean", .95, N = 8000))
show(Horvitz(z, .7, .25, Pi, "mean", .95, N = 8000))
show(Kuk(z + 1, .8, .2, 2, Pi, "mean", .95, N = 8000))

# Strata: 300 of 1,000, and 700 of 7,000
z <- rep(c(0, 1, 0, 1), c(180, 120, 550, 150))
Pi <- rep(c(300 / 1000, 700 / 7000), c(300, 700))
ForcedResponse(z, 1/6, 1/6, Pi, "total", .95)
