# Complex samples by R's package survey. Run in this folder:
#   Rscript --vanilla survey.R
# It reads people.csv and replicates.csv (make_people.py) and writes a JSON file a kind of design.
suppressPackageStartupMessages(library(survey))

# -- JSON -------------------------------------------------------------------------------------------
json <- function(x) {
    if (is.null(x)) return("null")
    if (is.list(x)) {
        parts <- sprintf("\"%s\": %s", names(x), vapply(x, json, ""))
        return(paste0("{", paste(parts, collapse = ",\n"), "}"))
    }
    if (is.matrix(x)) {
        return(paste0("[", paste(apply(unname(x), 1, function(r) json(I(r))), collapse = ",\n"), "]"))
    }
    if (is.logical(x)) text <- ifelse(x, "true", "false")
    else if (is.numeric(x)) text <- ifelse(is.finite(x), sprintf("%.16g", x), "null")
    else text <- sprintf("\"%s\"", x)
    if (length(x) == 1 && !inherits(x, "AsIs")) return(text)
    paste0("[", paste(text, collapse = ", "), "]")
}
numbers <- function(x) I(as.vector(unname(x)))
square <- function(x) matrix(as.vector(x), NROW(x))

# -- figures of a design ----------------------------------------------------------------------------
test <- function(x) list(statistic = as.vector(x$statistic), df = numbers(x$parameter), pvalue = as.vector(x$p.value))
estimate <- function(x) list(value = numbers(coef(x)), cov = square(vcov(x)))

# Shares by region with their covariance. svyby(covmat = TRUE) fails where weights are calibrated and
# rows of other groups stay: there ratios of totals, in the same order (groups within a category)
by_region <- function(d) {
    if (is.null(d$postStrata)) return(svyby(~job, ~region, d, svymean, covmat = TRUE))
    totals <- svytotal(as.formula(paste("~", paste(c(cells, region_columns), collapse = "+"))), d)
    ratios <- Map(function(x, r) bquote(.(as.name(x)) / .(as.name(r))), cells, region_columns)
    svycontrast(totals, ratios)
}

figures <- function(d, brief = FALSE) {
    df <- degf(d)
    share <- svymean(~job, d, deff = "replace")
    regions <- by_region(d)
    inside <- subset(d, sex == "f" & age != "65+")
    differ <- lapply(1:4, function(x) {
        one <- numeric(12)
        one[c(2, 3) + 3 * (x - 1)] <- c(1, -1)  # coefficients go through the groups of a category
        one
    })
    names(differ) <- levels(d$variables$job)
    found <- list(
        df = df,
        rows = nrow(d),
        share = estimate(share),
        by_region = estimate(regions),
        chisq = test(svychisq(~job + region, d, statistic = "Chisq")),
        chisq_F = test(svychisq(~job + region, d, statistic = "F"))
    )
    if (brief) return(found)
    c(found, list(
        total = estimate(svytotal(~job, d)),
        confint = square(confint(share, df = df)),
        # the variance under simple random sampling with replacement: R has it for a Taylor design
        deff = numbers(deff(share)),
        domain = c(estimate(svymean(~job, inside)), list(df = degf(inside), rows = nrow(inside))),
        domain_total = estimate(svytotal(~job, inside)),
        missing = estimate(svymean(~health, d, na.rm = TRUE)),
        ratio = estimate(svyratio(~I(job == "nurse"), ~I(job == "cook"), d)),
        score = estimate(svymean(~score, d)),
        score_by_sex = {
            by <- svyby(~score, ~sex, d, svymean)
            list(value = numbers(coef(by)), variance = numbers(SE(by)^2))
        },
        difference = estimate(svycontrast(regions, differ)),
        wald = if (df > 8) test(svychisq(~job + region, d, statistic = "Wald")),  # else singular
        adj_wald = if (df > 8) test(svychisq(~job + region, d, statistic = "adjWald")),
        fit = {
            x <- svygofchisq(~job, p = c(.4, .3, .2, .1), d)
            c(test(x), list(lambda = numbers(x$lambda)))
        }
    ))
}

write_all <- function(designs, file) writeLines(json(designs), file)

# -- the tables -------------------------------------------------------------------------------------
people <- read.csv("people.csv", na.strings = "", stringsAsFactors = TRUE)
people$score <- as.numeric(people$job)
people$row <- seq_len(nrow(people))
people$everyone <- 1013
region_columns <- paste0("in_", levels(people$region))
cells <- as.vector(outer(region_columns, levels(people$job), paste, sep = "_"))
for (x in levels(people$region)) {
    people[[paste0("in_", x)]] <- as.numeric(people$region == x)
    for (y in levels(people$job)) {
        people[[paste("in", x, y, sep = "_")]] <- as.numeric(people$region == x & people$job == y)
    }
}
factors <- as.matrix(read.csv("replicates.csv"))
columns <- function(kind) factors[, startsWith(colnames(factors), paste0(kind, "_"))]

# -- strata, clusters, corrections ------------------------------------------------------------------
options(survey.lonely.psu = "fail")
design <- function(ids, strata = NULL, fpc = NULL, data = people) {
    svydesign(ids, strata = strata, fpc = fpc, weights = ~weight, data = data, nest = TRUE)
}
elements <- design(~1, ~stratum, ~residents)
clusters <- design(~psu, ~stratum)
two_stages <- design(~psu + ssu, ~stratum, ~fpc1 + fpc2)
taylor <- list(
    weights = design(~1),
    simple_fpc = design(~1, fpc = ~everyone),
    elements = design(~1, ~stratum),
    elements_fpc = elements,
    units = design(~unit),
    clusters = clusters,
    clusters_fpc = design(~psu, ~stratum, ~fpc1),
    two_stages_no_fpc = design(~psu + ssu, ~stratum),
    two_stages_fpc = two_stages,
    persons_fpc = design(~psu + row, ~stratum, ~fpc1 + persons),
    three_stages_fpc = design(~psu + ssu + row, ~stratum, ~fpc1 + fpc2 + fpc3)
)
write_all(lapply(taylor, figures), "designs.json")

# -- strata with one unit ---------------------------------------------------------------------------
single <- list()
for (rule in c("certainty", "adjust", "average")) {
    options(survey.lonely.psu = rule)
    single[[paste0("units_", rule)]] <- figures(design(~psu, ~lone), TRUE)
    single[[paste0("units_fpc_", rule)]] <- figures(design(~psu, ~lone, ~fpc1), TRUE)
    single[[paste0("elements_fpc_", rule)]] <- figures(design(~1, ~alone, ~residents), TRUE)
}
options(survey.lonely.psu = "fail")
write_all(single, "single_units.json")

# -- replicate weights ------------------------------------------------------------------------------
size <- c(a = 3, b = 5, c = 3, d = 2)
left <- rep((size - 1) / size, size)  # JKn: of the stratum of the unit that is left out
replicated <- function(kind, mse, ...) {
    svrepdesign(
        data = people, weights = ~weight, repweights = columns(kind), combined.weights = FALSE,
        mse = mse, ...
    )
}
given <- list()
for (mse in c(TRUE, FALSE)) {
    of <- function(name) paste0(name, if (mse) "_mse" else "")
    given[[of("jk1")]] <- replicated("jk1", mse, type = "JK1", scale = 10 / 11)
    given[[of("jkn")]] <- replicated("jkn", mse, type = "JKn", scale = 1, rscales = left)
    given[[of("brr")]] <- replicated("brr", mse, type = "BRR")
    given[[of("fay")]] <- replicated("fay", mse, type = "Fay", rho = 0.3)
    given[[of("boot")]] <- replicated("boot", mse, type = "bootstrap", scale = 1 / 20, rscales = rep(1, 20))
    given[[of("sdr")]] <- replicated("sdr", mse, type = "successive-difference")  # scale 4 / 16
    given[[of("other")]] <- replicated("boot", mse, type = "other", scale = 0.07, rscales = 1 / (1:20))
}
found <- lapply(given, function(d) {
    c(
        list(scale = numbers(d$scale), rscales = numbers(d$rscales)),
        figures(d, d$type %in% c("bootstrap", "other"))
    )
})
# jackknives that R makes of a design; of several stages it takes the first
made <- list()
for (name in c("units", "clusters", "clusters_fpc", "elements_fpc")) {
    type <- if (name == "units") "JK1" else "JKn"
    d <- as.svrepdesign(taylor[[name]], type = type, compress = FALSE)
    made[[paste0("jackknife_", name)]] <- c(
        figures(d, TRUE),
        list(
            total = estimate(svytotal(~job, d)),
            domain = estimate(svymean(~job, subset(d, sex == "f" & age != "65+"))),
            ratio = estimate(svyratio(~I(job == "nurse"), ~I(job == "cook"), d))
        )
    )
}
write_all(c(found, made), "replicates.json")

# -- calibration ------------------------------------------------------------------------------------
margins <- list(region = c(east = 780, north = 590, south = 930), sex = c(f = 1280, m = 1020))
population <- c(2300, 590, 930, 1020)
names(population) <- c("(Intercept)", "regionnorth", "regionsouth", "sexm")
calibrated <- function(d, ...) {
    calibrate(d, ~region + sex, population, epsilon = 1e-12, maxit = 200, compress = FALSE, ...)
}
ways <- list(
    raking = function(d) calibrated(d, calfun = "raking"),
    linear = function(d) calibrated(d, calfun = "linear"),
    linear_bounds = function(d) calibrated(d, calfun = "linear", bounds = c(0.87, 1.12)),
    logit = function(d) calibrated(d, calfun = "logit", bounds = c(0.5, 2)),
    poststratified = function(d) postStratify(d, ~region, data.frame(region = names(margins$region), Freq = margins$region))
)
bases <- list(
    elements_fpc = elements, clusters = clusters, two_stages_fpc = two_stages,
    jkn = given$jkn, boot_mse = given$boot_mse
)
weighed <- function(d) {
    w <- weights(d, "sampling")
    list(sum = sum(w), min = min(w), max = max(w), first = numbers(w[1:12]))
}
results <- list()
for (base in names(bases)) for (way in names(ways)) {
    in_columns <- inherits(bases[[base]], "svyrep.design")
    if (in_columns && way == "linear_bounds") next  # some replicates have no solution
    d <- ways[[way]](bases[[base]])
    own <- list(weights = weighed(d))
    brief <- base != "clusters" || way == "poststratified"
    results[[paste0(base, "_", way)]] <- c(own, figures(d, brief), if (brief) list(
        total = estimate(svytotal(~job, d)),
        domain = estimate(svymean(~job, subset(d, sex == "f" & age != "65+")))
    ))
}
trimmed <- trimWeights(clusters, lower = 4, upper = 25)
strictly <- trimWeights(clusters, lower = 4, upper = 25, strict = TRUE)
results$trimmed <- list(weights = weighed(trimmed))
results$trimmed_strictly <- list(weights = weighed(strictly))
write_all(c(list(margins = lapply(margins, as.list)), results), "calibration.json")
