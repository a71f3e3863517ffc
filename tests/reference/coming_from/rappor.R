# google/rappor's EM for two variables; vignettes/coming_from/rappor.md has the same.
# RAPPOR_REPO is a copy of the repository, with a slash at its end (commit a13fa96). Only the part
# that estimates a joint distribution is read: decoding needs packages that Debian does not have.
source.rappor <- function(path) NULL
lines <- readLines(paste0(Sys.getenv("RAPPOR_REPO"), "analysis/R/association.R"))
first <- grep("^GetOtherProbs", lines)
library(parallel)
Log <- function(...) NULL
eval(parse(text = lines[first:length(lines)]))
options(digits = 8)

i <- 0:1999
x <- (37 * i) %% 101 < 40
y <- (53 * i) %% 97 < ifelse(x, 60, 25)
bit <- function(true, turn, of) as.integer((turn * i) %% of / of < ifelse(true, .75, .25))
reports <- list(bit(x, 29, 89), bit(y, 31, 83))
table(reports[[1]], reports[[2]])
params <- list(k = 1, h = 1, m = 1, p = .25, q = .75, f = 0)
one <- data.frame(string = c("TRUE", "FALSE"))
fit <- ComputeDistributionEM(lapply(reports, as.list), list(rep(1, 2000), rep(1, 2000)),
                             list(NULL, NULL), params = params, marginals = list(one, one),
                             estimate_var = TRUE, num_cores = 1)
round(fit$fit, 6)
round(fit$sd, 6)
TestIndependence(fit$fit, solve(fit$em$var_cov))
