/* ---- watermarks: tails of distributions ----
   Computes ln P(X >= x) for a variable X with a Gamma(a, 1) distribution or a binomial one, for a and n up to 10^9.
   Terms that would cancel are computed together, as Stirling's error and as the deviance (Loader 2000, "Fast and
   accurate computation of binomial probabilities"). So the relative error of the logarithm is about 1e-12, near the
   middle and in the tail. Logarithms are those of >>math, so a p-value is the same on every machine. */

/* Returns ln Gamma(a) - ((a - 1/2) ln a - a + ln(2 pi) / 2), the error of Stirling's formula, for a > 0. */
static SAMPI_COLD double sampi_stirling_error(double a)
{
    double sum = 0.0;
    for (; a < 16.0; a += 1.0) sum += (a + 0.5) * sampi_ln((a + 1.0) / a) - 1.0;
    const double z = 1.0 / (a * a);
    return sum + (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - (1.0 / 1680 - z / 1188) * z) * z) * z) / a;
}

/* Returns ln(1 + x) - x for x > -1. */
static SAMPI_COLD double sampi_ln1_less(double x)
{
    if (sampi_abs(x) > 0.3) return sampi_ln(1.0 + x) - x;
    double s = x / (2.0 + x), z = s * s, sum = 0.0; /* ln(1 + x) = 2 (s + s^3 / 3 + ...), and 2 s - x = -s x */
    for (int k = 31; k >= 3; k -= 2) sum = sum * z + 1.0 / k;
    return 2.0 * s * z * sum - s * x;
}

/* Returns the deviance x ln(x / m) + m - x, which is at least 0, for x and m > 0. */
static SAMPI_COLD double sampi_deviance(double x, double m)
{
    const double r = (x - m) / m;
    return sampi_abs(r) < 0.3 ? x * sampi_ln1_less(r) + r * (x - m) : x * (sampi_ln(x) - sampi_ln(m)) + m - x;
}

#define SAMPI_LN_2PI 1.8378770664093454836

/* Returns ln(1 - p) for a probability p, or -FLT_MAX for p = 1. */
static SAMPI_COLD double sampi_ln_rest(double p) { return p < 1.0 ? sampi_ln(1.0 - p) : -(double)FLT_MAX; }

/* Returns e^l for a logarithm l of a probability, or 0 for l below -690. */
static SAMPI_COLD double sampi_exp_of(double l)
{
    if (l < -690.0) return 0.0;
    return l < 0.0 ? sampi_exp2(l * SAMPI_LOG2E) : 1.0;
}

/* Returns ln Q(a, x) = ln P(Gamma(a, 1) >= x). Below the mean it is computed by the series of P, above by the continued
   fraction (Lentz). */
static SAMPI_COLD double sampi_ln_gamma_tail(double a, double x)
{
    if (!(x > 0.0)) return 0.0;
    /* x^a e^-x / Gamma(a) */
    const double front = -sampi_deviance(a, x) + 0.5 * (sampi_ln(a) - SAMPI_LN_2PI) - sampi_stirling_error(a);
    if (x < a + 1.0) {
        double term = 1.0 / a, sum = term;
        for (double k = a + 1.0; term > sum * 1e-17; k += 1.0) sum += term *= x / k;
        return sampi_ln_rest(sampi_exp_of(front + sampi_ln(sum)));
    }
    double b = x + 1.0 - a, c = 1e300, d = 1.0 / b, h = d;
    for (double i = 1.0; i < 1e7; i += 1.0) {
        double an = -i * (i - a);
        b += 2.0;
        d = 1.0 / (an * d + b);
        c = b + an / c;
        h *= c * d;
        if (sampi_abs(c * d - 1.0) < 1e-16) break;
    }
    double l = front + sampi_ln(h);
    return l < 0.0 ? l : 0.0;
}

/* Returns ln P(Binomial(n, p) = k) for 0 <= k <= n. */
static SAMPI_COLD double sampi_ln_binomial(double n, double k, double p)
{
    if (k == 0.0) return n * sampi_ln(1.0 - p);
    if (k == n) return n * sampi_ln(p);
    const double errors = sampi_stirling_error(n) - sampi_stirling_error(k) - sampi_stirling_error(n - k);
    const double away = sampi_deviance(k, n * p) + sampi_deviance(n - k, n * (1.0 - p));
    return errors - away + 0.5 * (sampi_ln(n) - sampi_ln(k) - sampi_ln(n - k) - SAMPI_LN_2PI);
}

/* Returns ln P(Binomial(n, p) >= k). The terms are added from k up, or from k - 1 down if that tail is shorter. */
static SAMPI_COLD double sampi_ln_binomial_tail(double n, double k, double p)
{
    const bool is_upper = k > n * p;
    double at = is_upper ? k : k - 1.0, term = 1.0, sum = 1.0;
    if (k <= 0.0) return 0.0;
    double l = sampi_ln_binomial(n, at, p);
    while (term > sum * 1e-17) {
        if (is_upper) {
            term *= (n - at) / (at + 1.0) * (p / (1.0 - p));
            at += 1.0;
        } else {
            term *= at / (n - at + 1.0) * ((1.0 - p) / p);
            at -= 1.0;
        }
        sum += term;
    }
    l += sampi_ln(sum);
    if (!is_upper) return sampi_ln_rest(sampi_exp_of(l));
    return l < 0.0 ? l : 0.0;
}
