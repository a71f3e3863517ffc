# rr on a table made by arithmetic; vignettes/coming_from/rr.md has the same
library(rr)
options(digits = 8, width = 90)
packageVersion("rr")

i <- 0:5049
d <- data.frame(age = 20 + (7 * i) %% 50, sex = (i %/% 50) %% 2)
true <- as.integer(((37 * i) %% 101) / 101 < plogis(-3 + .06 * d$age))
die <- 1 + ((53 * i) %% 97) %/% 17
d$used <- ifelse(die == 1, 1, ifelse(die == 6, 0, true))
set.seed(1)
fit <- rrreg(used ~ age + sex, data = d, design = "forced-known",
             p = 2/3, p1 = 1/6, p0 = 1/6, em.converge = 1e-12)
round(cbind(estimate = fit$est, se = fit$se), 6)
observed <- rrreg(used ~ age + sex, data = d, design = "forced-known",
                  p = 2/3, p1 = 1/6, p0 = 1/6, em.converge = 1e-12, optim = TRUE)
round(cbind(estimate = observed$est, se = observed$se), 6)

# A private predictor
d$vote <- as.integer(((29 * i) %% 89) / 89 < plogis(-1 + .8 * true + .01 * d$age))
pred <- rrreg.predictor(vote ~ age + sex + used, data = d, rr.item = "used",
                        design = "forced-known", p = 2/3, p1 = 1/6, p0 = 1/6,
                        fit.sens = "glm", fit.outcome = "glm", em.converge = 1e-7, optim = TRUE)
round(cbind(estimate = pred$est.t, se = pred$se.t), 6)
round(cbind(estimate = pred$est.b, se = pred$se.b), 6)
# Power
power <- power.rr.test(p = 2/3, p1 = 1/6, p0 = 1/6, n = 1000, presp = .15, presp.null = .1,
                       design = "forced-known", sig.level = .05,
                       type = "one.sample", alternative = "two.sided")
power$power
