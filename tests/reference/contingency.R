# Tests and intervals of known tables by R. Run in this folder:
#   R --vanilla --quiet < contingency.R > contingency.Rout
options(digits = 10)
R.version.string

# Admissions to graduate school at Berkeley (Admit, Gender, Dept), hair and eyes of students
# (Hair, Eye, Sex): tables of the package datasets
write.csv(as.data.frame(UCBAdmissions), "ucb_admissions.csv", row.names = FALSE, quote = FALSE)
write.csv(as.data.frame(HairEyeColor), "hair_eye_color.csv", row.names = FALSE, quote = FALSE)
hair_eye <- margin.table(HairEyeColor, c(1, 2))

# independence of two variables: Pearson and likelihood ratio
(pearson <- chisq.test(hair_eye))
(lr <- loglin(hair_eye, list(1, 2), print = FALSE)[c("lrt", "df")])

# independence of three variables
(mutual <- loglin(HairEyeColor, list(1, 2, 3), print = FALSE)[c("lrt", "pearson", "df")])

# within strata: Cochran, Mantel, Haenszel, of two by two tables and of any size
(two_by_two <- mantelhaen.test(UCBAdmissions, correct = FALSE))
(general <- mantelhaen.test(HairEyeColor))

# trend: admissions over departments A to F
admitted <- margin.table(UCBAdmissions, c(1, 3))
(trend <- prop.trend.test(admitted["Admitted", ], colSums(admitted)))

# odds ratio of brown hair against black, blue eyes against brown, with its Wald interval
four <- hair_eye[c("Brown", "Black"), c("Blue", "Brown")]
fit <- glm(four ~ c(1, 0), family = binomial)
(odds <- exp(c(coef(fit)[2], confint.default(fit)[2, ])))

# an exact interval (Clopper and Pearson)
(exact <- binom.test(412, 1000)$conf.int)

found <- c(
    pearson = unname(pearson$statistic), pearson_df = unname(pearson$parameter),
    pearson_pvalue = pearson$p.value, lr = lr$lrt, mutual_pearson = mutual$pearson,
    mutual_lr = mutual$lrt, mutual_df = mutual$df, two_by_two = unname(two_by_two$statistic),
    general = unname(general$statistic), general_df = unname(general$parameter),
    trend = unname(trend$statistic), odds = unname(odds[1]),
    odds_lower = odds[[2]], odds_upper = odds[[3]],
    exact_lower = exact[1], exact_upper = exact[2]
)
write.csv(
    data.frame(quantity = names(found), value = sprintf("%.15g", found)), "contingency.csv",
    row.names = FALSE, quote = FALSE
)
