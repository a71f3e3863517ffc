# R's package survey on a table made by arithmetic; vignettes/coming_from/survey.md has the same
suppressPackageStartupMessages(library(survey))
options(digits = 8, width = 90)
packageVersion("survey")

# 20 of 200 schools in the north, 20 of 400 in the south, 10 pupils in each
i <- 0:399
d <- data.frame(school = i %/% 10, region = ifelse(i < 200, "north", "south"))
d$schools <- ifelse(i < 200, 200, 400)
d$weight <- ifelse(i < 200, 10, 20) * (1 + i %% 3)
d$sex <- ifelse((7 * i) %% 11 < 6, "f", "m")
d$grade <- c("low", "middle", "high")[1 + (((37 * i) %% 101 + d$school) %% 101) %/% 34]
d$grade <- factor(d$grade, c("low", "middle", "high"))
true <- as.integer(((53 * i) %% 97 + 2 * d$school) %% 97 < 30)
die <- 1 + ((41 * i) %% 103) %/% 18
d$used <- ifelse(die == 1, 1, ifelse(die == 6, 0, true))

design <- svydesign(ids = ~school, strata = ~region, weights = ~weight, fpc = ~schools, data = d)
svymean(~grade, design)
svytotal(~grade, design)
svyby(~grade, ~sex, design, svymean)
unfpc <- svydesign(ids = ~school, strata = ~region, weights = ~weight, data = d)
svychisq(~grade + sex, unfpc, statistic = "F")
raked <- calibrate(design, ~sex + region, c("(Intercept)" = 12000, sexm = 5500, regionsouth = 7900),
                   calfun = "raking")
svymean(~grade, raked)
svymean(~grade, as.svrepdesign(design, type = "JKn"))
degf(design)

# A privatised answer: an unbiased score for each respondent
svymean(~I((used - 1/6) / (2/3)), unfpc)
svyby(~I((used - 1/6) / (2/3)), ~sex, unfpc, svymean)
