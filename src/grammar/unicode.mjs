// unicode.mjs - writes src/grammar/unicode.h, the table of general categories, as node's regular expressions have them.
//     node src/grammar/unicode.mjs > src/grammar/unicode.h
const names = 'Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn'.split(' ');
const is = names.map((name) => new RegExp(`^\\p{${name}}$`, 'u'));
const runs = [];
for (let c = 0; c <= 0x10ffff; c++) {
    const text = String.fromCodePoint(c), kind = is.findIndex((re) => re.test(text));
    if (runs.length && runs[runs.length - 1].kind === kind) runs[runs.length - 1].n++;
    else runs.push({ kind, n: 1 });
}
const bytes = [];
for (const { kind, n } of runs) {
    bytes.push(kind | (n < 8 ? n << 5 : 0));
    for (let left = n < 8 ? 0 : n; left; left >>>= 7) bytes.push(left < 128 ? left : (left & 127) | 128);
}
let lines = '', line = '   ';
for (const byte of bytes) {
    const item = ` ${byte},`;
    if (line.length + item.length > 110) [lines, line] = [`${lines}${line}\n`, '   '];
    line += item;
}
console.log(`/* ---- regular expressions: Unicode's general categories ----
   The table is that of Unicode ${process.versions.unicode} and has ${bytes.length} bytes (unicode.mjs makes it). Each run of code points of one
   category has a byte: its category in the lower five bits, its length in the upper three; if these are 0, the length
   follows, seven bits in a byte, the lowest first. SAMP_NO_UNICODE leaves the table out. */

#ifndef SAMP_NO_UNICODE
/* clang-format off */
static const uint8_t sampi_unicode_runs[] = {
${lines}${line}
};
/* clang-format on */

/* The names of the categories, in the table's order. The first letter of several is the name of all of them. */
static const char sampi_unicode_names[] =
    "${names.join(' ')}";
#endif`);
