/* ---- llama-server's samplers ---- */

/* Its name and its letter for a sampler, found by either; our orders have the same names. adaptive_p is no step here:
   it selects. */
static SAMPI_COLD const char *sampi_ask_step(const char *name, size_t n, char letter)
{
    static const char *const names[] = { "penalties", "dry", "top_n_sigma", "top_k",  "typ_p",     "top_p",
                                         "min_p",     "xtc", "temperature", "infill", "adaptive_p" };
    static const char letters[] = "edskypmxtia";
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (name ? strlen(names[i]) == n && !memcmp(names[i], name, n) : letters[i] == letter) return names[i];
    return NULL;
}

/* One more step behind an order that has room for it. */
static SAMPI_COLD bool sampi_ask_add_step(sampi_ask *ask, char *order, const char *step)
{
    if (!step) return false;
    if (!strcmp(step, "adaptive_p")) {
        ask->adaptive = true;
    } else {
        size_t n = strlen(order);
        if (n) order[n++] = ';';
        memcpy(order + n, step, strlen(step) + 1);
    }
    return true;
}

static SAMPI_COLD int sampi_ask_order(sampi_ask *ask, int32_t node)
{
    enum { STEP = 12, STEPS = 64 }; /* a name and its ; and how many are taken */
    char order[STEP * STEPS + 1] = "";
    const sampi_json_node *v = sampi_ask_node(ask, node);
    bool letters = v->kind == SAMPI_JSON_STRING, good = true; /* of the steps so far */
    size_t n = 0;
    const char *text = letters ? sampi_ask_text(ask, v->text, &n) : NULL;
    if (!letters && v->kind != SAMPI_JSON_ARRAY) return sampi_ask_bad(ask, node, SAMP_E_FORMAT);
    if ((letters ? n : (size_t)v->n) > STEPS) return sampi_ask_bad(ask, node, SAMP_E_RANGE);
    for (size_t i = 0; letters && good && i < n; i++)
        good = sampi_ask_add_step(ask, order, sampi_ask_step(NULL, 0, text[i]));
    for (int32_t i = letters ? -1 : v->first; good && i >= 0; i = sampi_ask_node(ask, i)->next) {
        const sampi_json_node *step = sampi_ask_node(ask, i);
        if (step->kind != SAMPI_JSON_STRING) return sampi_ask_bad(ask, i, SAMP_E_FORMAT);
        text = sampi_ask_text(ask, step->text, &n);
        good = sampi_ask_add_step(ask, order, sampi_ask_step(text, n, 0));
    }
    if (!good) return sampi_ask_fail(ask, node, SAMP_E_UNSUPPORTED, "expected samplers that llama-server has");
    int status = samp_settings_set(ask->to, "order", order, NULL);
    return status ? sampi_ask_bad(ask, node, status) : SAMP_OK;
}
