/* chi_square.h - do counts have a distribution? Include it after test.h. */
#ifndef CHI_SQUARE_H
#define CHI_SQUARE_H

typedef long double real;

/* the upper tail of chi-square, P(X >= x) with k degrees of freedom: the regularised gamma Q(k/2, x/2) */
static inline double chi_square_tail(double x, double k)
{
    real a = k / 2, y = x / 2, front, sum, term;
    if (x <= 0) return 1;
    front = expl(a * logl(y) - y - lgammal(a));
    if (y < a + 1) { /* series of P */
        sum = term = 1 / a;
        for (int i = 1; i < 100000 && term > sum * 1e-18L; i++) sum += term *= y / (a + i);
        return (double)(1 - front * sum);
    }
    real b = y + 1 - a, c = 1e300L, d = 1 / b, h = d; /* continued fraction of Q (Lentz) */
    for (int i = 1; i < 100000; i++) {
        real an = -i * (i - a), step;
        b += 2;
        d = 1 / (an * d + b);
        c = b + an / c;
        step = d * c;
        h *= step;
        if (fabsl(step - 1) < 1e-16L) break;
    }
    return (double)(front * h);
}

/* How likely are counts at least that far from p? Cells that expect fewer than 10 are pooled. A count where p
   is 0 answers 0. p need not sum to exactly 1. */
static inline double chi_square(const long *seen, const real *p, size_t n)
{
    real total = 0, sum = 0, x = 0, pool_p = 0, pool_seen = 0;
    size_t cells = 0;
    for (size_t i = 0; i < n; i++) {
        total += seen[i];
        sum += p[i];
        if (p[i] <= 0 && seen[i]) return 0;
    }
    for (size_t i = 0; i < n; i++) {
        real want = p[i] / sum * total;
        if (want < 10) {
            pool_p += want;
            pool_seen += seen[i];
            continue;
        }
        x += (seen[i] - want) * (seen[i] - want) / want;
        cells++;
    }
    if (pool_p >= 10) {
        x += (pool_seen - pool_p) * (pool_seen - pool_p) / pool_p;
        cells++;
    } else if (pool_p > 0) { /* too little for a cell of its own: Poisson's tail, roughly */
        if (pool_seen > pool_p + 8 * sqrtl(pool_p) + 8) return 0;
    }
    return cells < 2 ? 1 : chi_square_tail((double)x, (double)(cells - 1));
}

#endif /* CHI_SQUARE_H */
