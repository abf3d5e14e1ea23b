#include "ptx.h"
bool time_on;
void time_start(const grid *g) { (void)g; }
void time_issue(warp *w, frame *f, const instruction *in, u32 mask, const u64 *address)
{
    (void)w;
    (void)f;
    (void)in;
    (void)mask;
    (void)address;
}
void time_team_done(team *t) { (void)t; }
void time_report(const grid *g) { (void)g; }
