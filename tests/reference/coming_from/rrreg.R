# RRreg on counts and on a table made by arithmetic; vignettes/coming_from/rrreg.md has the same
library(RRreg)
options(digits = 8, width = 90)
packageVersion("RRreg")

# One question
answers <- rep(0:1, c(730, 270))
summary(RRuni(answers, model = "FR", p = c(1/6, 1/6)))
jobs <- rep(0:2, c(420, 330, 250))
summary(RRuni(jobs, model = "FR", p = c(.1, .1, .1)))
W <- rbind(c(.8, .1, .1), c(.1, .8, .1), c(.1, .1, .8))
summary(RRuni(jobs, model = "custom", p = W))

# The other designs
estimate <- function(yes, n, ...) {
  fit <- RRuni(rep(0:1, c(n - yes, yes)), ...)
  sprintf("%.6f (%.6f)", fit$pi, fit$piSE)
}
estimate(270, 1000, model = "Warner", p = .8)
estimate(270, 1000, model = "UQTknown", p = c(.7, .25))
estimate(430, 1000, model = "Mangat", p = .7)
estimate(270, 1000, model = "Kuk", p = c(.8, .2))
estimate(270, 1000, model = "Crosswise", p = .25)
estimate(430, 1000, model = "Triangular", p = .25)

# Two groups: what cheats, and an unrelated question of unknown prevalence
group <- rep(1:2, each = 1000)
two <- function(yes1, yes2) rep(c(0, 1, 0, 1), c(1000 - yes1, yes1, 1000 - yes2, yes2))
summary(RRuni(two(380, 540), model = "CDM", p = c(.25, .5), group = group))
summary(RRuni(two(580, 320), model = "SLD", p = c(.3, .7), group = group))
summary(RRuni(two(220, 260), model = "UQTunknown", p = c(.7, .4), group = group))

# Regression: whether she used it is true of a respondent; a die of 6 makes what she says
i <- 0:5049
d <- data.frame(age = 20 + (7 * i) %% 50, sex = (i %/% 50) %% 2)
true <- as.integer(((37 * i) %% 101) / 101 < plogis(-3 + .06 * d$age))
die <- 1 + ((53 * i) %% 97) %/% 17
d$used <- ifelse(die == 1, 1, ifelse(die == 6, 0, true))
set.seed(1)
fit <- RRlog(used ~ age + sex, d, model = "FR", p = c(1/6, 1/6))
summary(fit)

# A private predictor
d$pay <- 30 + .2 * d$age - 5 * true + 4 * qnorm(((41 * i) %% 103 + .5) / 103)
line <- RRlin(pay ~ used + age, d, models = "FR", p.list = list(c(1/6, 1/6)))
summary(line)

# Correlation of two private answers
late <- as.integer(((29 * i) %% 89) / 89 < plogis(-1 + true))
die <- 1 + ((31 * i) %% 83) %/% 14
d$late <- ifelse(die == 1, 1, ifelse(die == 6, 0, late))
RRcor(d[c("used", "late")], models = c("FR", "FR"), p.list = list(c(1/6, 1/6), c(1/6, 1/6)))$r
