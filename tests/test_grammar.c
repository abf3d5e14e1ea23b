/* test_grammar.c - grammars: the tree that every kind of grammar becomes. It includes the implementation, as the tree is
   an inside. */
#define SAMPLING_GRAMMAR
#define HEAP_HERE
#include "heap.h"
#define SAMPLING_IMPLEMENTATION
#include "../sampling.h"

#include "test.h"

/* Equal expressions are one node, and what can't match anything is gone at once. */
static void test_tree_shares(void **state)
{
    (void)state;
    sampi_tree t;
    assert_ok(sampi_tree_init(&t));
    sampi_node a = sampi_tree_text(&t, "abc", 3), b = sampi_tree_byte(&t, 'x', 'z');
    assert_num(sampi_tree_text(&t, "abc", 3), a);
    assert_num(sampi_tree_seq(&t, a, b), sampi_tree_seq(&t, a, b));
    assert_num(sampi_tree_seq(&t, a, SAMPI_NEVER), SAMPI_NEVER);
    assert_num(sampi_tree_seq(&t, sampi_tree_empty(&t), b), b);
    assert_num(sampi_tree_alt(&t, sampi_tree_never(&t), b), b);
    assert_num(sampi_tree_repeat(&t, a, 0, 0), SAMPI_EMPTY);
    assert_num(sampi_tree_repeat(&t, a, 3, 2), SAMP_E_RANGE);
    assert_num(sampi_tree_seq(&t, a, SAMP_E_NOMEM), SAMP_E_NOMEM);
    assert_true(sampi_tree_token(&t, 7, true) > b);
    assert_num(sampi_tree_token(&t, -1, false), SAMP_E_RANGE);
    int32_t rule = sampi_tree_rule(&t, "root", 4);
    assert_num(sampi_tree_rule(&t, "root", 4), rule);
    assert_true(sampi_tree_rule(&t, "", 0) != sampi_tree_rule(&t, "", 0));
    assert_ok(sampi_tree_define(&t, rule, sampi_tree_not(&t, sampi_tree_ref(&t, rule))));
    sampi_member one = { a, true };
    assert_true(sampi_tree_members(&t, &one, 1, b, SAMPI_NEVER, 0, SIZE_MAX) > 0);
    assert_true(sampi_tree_class(&t, NULL, 0, false) == SAMPI_NEVER);
    sampi_tree_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_tree_shares) };
    return cmocka_run_group_tests_name("grammar", tests, NULL, NULL);
}
