#!/bin/sh
# The demo tells the same stories with guesses, side by side, and beyond its context; it says what is wrong with an option
# and what would be right, and finds its model. Usage: demo.sh TALES DIR
set -eu
tales=$1
mkdir -p "$2"
dir=$(cd "$2" && pwd)
fail() { echo "demo: $*" >&2; exit 1; }
tell() { "$tales" "$@" 2> "$dir/figures"; }
steps() { sed -n 's/.* tokens in \([0-9]*\) model steps.*/\1/p' "$dir/figures"; }
tokens() { sed -n 's/\([0-9]*\) tokens in .*/\1/p' "$dir/figures"; }

# A draft changes no word and saves steps of the model.
for options in "--length 150" "--temp 0 --length 300" "--mirostat 2 --seed 7" "--rng mt19937" "--length 2000 --seed 5"; do
    tell $options > "$dir/plain"
    plain=$(steps)
    [ "$plain" = "$(tokens)" ] || fail "$options: $plain steps for $(tokens) tokens"
    for draft in 2 16 ngram; do
        tell $options --draft "$draft" > "$dir/drafted"
        cmp "$dir/plain" "$dir/drafted" || fail "$options --draft $draft: another story"
        [ "$(steps)" -lt "$plain" ] || fail "$options --draft $draft: $(steps) steps, not fewer than $plain"
    done
done
[ "$(tokens)" = 2000 ] || fail "--length 2000: $(tokens) tokens"

# Stories side by side are those told alone, also when they slide out of a long prompt that they share.
long=$(for i in 1 2 3 4 5 6 7 8; do printf 'The old king had %s sons, and the youngest son was a fool, and so he sat by the fire. ' $i; done)
for prompt in "Once upon a time" "$long"; do
    tell --parallel 3 --length 400 --draft 3 "$prompt" > "$dir/parallel"
    : > "$dir/alone"
    for seed in 42 43 44; do
        [ $seed = 42 ] || echo >> "$dir/alone"
        printf '(seed %s)\n\n' $seed >> "$dir/alone"
        tell --seed $seed --length 400 "$prompt" >> "$dir/alone"
    done
    cmp "$dir/parallel" "$dir/alone" || fail "stories side by side are not those told alone"
done

# So are stories with settings of their own: every list is taken in turn.
tell --parallel 8 --length 120 --temp 0.7,0,1.2 --top-k 40,5 --repeat-penalty 1,1,1.3 --mirostat 0,0,0,2 --seed 9,7 \
    > "$dir/parallel"
set -- "0.7 40 1 0 9" "0 5 1 0 7" "1.2 40 1.3 0 9" "0.7 5 1 2 7" "0 40 1 0 9" "1.2 5 1.3 0 7" "0.7 40 1 0 9" "0 5 1 2 7"
: > "$dir/alone"
for settings in "$@"; do
    # shellcheck disable=SC2086
    set -- $settings
    [ ! -s "$dir/alone" ] || echo >> "$dir/alone"
    printf '(seed %s)\n\n' "$5" >> "$dir/alone"
    tell --temp "$1" --top-k "$2" --repeat-penalty "$3" --mirostat "$4" --seed "$5" --length 120 >> "$dir/alone"
done
cmp "$dir/parallel" "$dir/alone" || fail "stories with their own settings are not those told alone"

# What is banned is not said, however its tokens fall; and what repeats itself can be told not to.
for seed in 1 2 3; do
    tell --seed $seed --length 120 > "$dir/plain"
    grep -q "the" "$dir/plain" || fail "seed $seed: a story without \"the\""
    tell --seed $seed --length 120 --ban "the,Once upon" > "$dir/banned"
    ! grep -q "the" "$dir/banned" || fail "--ban: $(cat "$dir/banned")"
done

# A story ends before the first stop, and is the same up to there, however it is drafted.
words() { tr -s '\n ' ' ' < "$1" | sed 's/ *$//'; }
for seed in 1 2 3; do
    tell --seed $seed --length 120 > "$dir/plain"
    stop=$(words "$dir/plain" | cut -d ' ' -f 30 | tr -dc a-zA-Z)
    tell --seed $seed --length 120 --stop "zzz,$stop" > "$dir/stopped"
    tell --seed $seed --length 120 --stop "zzz,$stop" --draft 8 > "$dir/drafted"
    cmp "$dir/stopped" "$dir/drafted" || fail "--stop: another story with a draft"
    case $(words "$dir/plain") in
    "$(words "$dir/stopped") $stop"* | "$(words "$dir/stopped")$stop"*) ;;
    *) fail "--stop \"$stop\": $(cat "$dir/stopped")" ;;
    esac
done

tell --temp 0 --length 200 > "$dir/plain"
tell --temp 0 --length 200 --no-repeat-ngram 3 > "$dir/banned"
! cmp -s "$dir/plain" "$dir/banned" || fail "--no-repeat-ngram 3: the same story"
tell --temp 0 --length 800 > "$dir/plain"
# What is thought ends within its budget and its line, whole, in colours of its own, and the same with guesses.
for seed in 1 2 3; do
    tell --seed $seed --length 240 --think 120 > "$dir/thought"
    grep -q "I have thought enough." "$dir/thought" && grep -q "</think>" "$dir/thought" || fail "--think: $(cat "$dir/thought")"
    tell --seed $seed --length 240 --think 120 --draft 4 > "$dir/drafted"
    cmp "$dir/thought" "$dir/drafted" || fail "--think --draft 4: another story"
done
tell --think 120 --length 240 --color always > "$dir/thought"
grep -q "$(printf '\033\[1;36mthought\|\033\[1;35m</think>')" "$dir/thought" || fail "--think: no colours"
tell --temp 0 --length 800 --loop-breaker 2 > "$dir/banned"
! cmp -s "$dir/plain" "$dir/banned" || fail "--loop-breaker 2: the same story"

# A mark is found in the story as it is shown, by its key and no other, and where it stands; the key is told nowhere.
p_of() { tell --detect "$1" --text "$2" --watermark-kind "$3" > "$dir/p"; sed -n '1s/^p = \([^:]*\):.*/\1/p' "$dir/p"; }
for kind in gumbel gumbel_dual synthid sbw_selfhash sbw_lefthash; do
    tell --watermark 987654321987654321 --watermark-kind $kind --length 300 --verbose > "$dir/marked"
    ! grep -q 987654 "$dir/figures" "$dir/marked" || fail "--watermark: its key is told"
    awk -v p="$(p_of 987654321987654321 "$dir/marked" $kind)" 'BEGIN { exit !(p + 0 < 1e-6 && p != "") }' || fail "$kind: $(cat "$dir/p")"
    awk -v p="$(p_of 987654321987654322 "$dir/marked" $kind)" 'BEGIN { exit !(p > 1e-4) }' || fail "$kind, another key: $(cat "$dir/p")"
done
tell --watermark 5 --length 150 > "$dir/marked"
tell --length 150 --seed 3 > "$dir/plain"
cat "$dir/plain" "$dir/marked" > "$dir/both"
p_of 5 "$dir/both" gumbel > /dev/null
grep -q "^most clearly marked: tokens [12][0-9][0-9] to" "$dir/p" || fail "where: $(cat "$dir/p")"
tell --watermark 5 --length 150 --draft 4 > "$dir/drafted"
cmp "$dir/marked" "$dir/drafted" || fail "--watermark --draft: another story"

# The best of five is the story of the seed with the largest log-probability.
tell --best-of 5 --length 60 > "$dir/best"
[ "$(grep -c '^seed ' "$dir/figures")" = 5 ] || fail "--best-of 5: $(cat "$dir/figures")"
seed=$(sed -n 's/seed \([0-9]*\): log-probability \(.*\)/\2 \1/p' "$dir/figures" | sort -n | tail -n 1 | cut -d' ' -f2)
tell --seed "$seed" --length 60 > "$dir/alone"
cmp "$dir/best" "$dir/alone" || fail "--best-of 5 does not tell seed $seed"

# one beam is the likeliest token each time; of four the first is at least as likely
tell --beams 1 --temp 0 --length 30 | sed 1,2d > "$dir/beam"
tell --temp 0 --length 30 > "$dir/greedy"
cmp "$dir/beam" "$dir/greedy" || fail "--beams 1 is not --temp 0"
tell --beams 4 --temp 0 --length 40 > "$dir/beams"
[ "$(grep -c ' a token, ' "$dir/beams")" = 4 ] || fail "--beams 4 tells other than four endings"

for bad in "--watermark 5x" "--watermark 5 --temp 0" "--watermark-kind no --watermark 1" "--detect 5" "--detect 5 --text /no" "--parallel 0" "--parallel 65" "--best-of 2 --parallel 2" "--beams 33" "--beams 2 --draft 2" "--draft 17" "--show --draft 2" "--show --parallel 2" "--temp 1,x" "--top-k 4,,5"; do
    if tell $bad > "$dir/bad"; then fail "$bad is accepted"; fi
    [ -s "$dir/figures" ] && [ ! -s "$dir/bad" ] || fail "$bad: no message"
done

# What is wrong is said together with what would be right: the option and its value, then the words.
says() { # the message's words, then the options
    words=$1
    shift
    if tell "$@" > "$dir/bad"; then fail "$* is accepted"; fi
    [ ! -s "$dir/bad" ] || fail "$*: a story"
    grep -qF -e "$words" "$dir/figures" || fail "$*: $(cat "$dir/figures")"
}
says '--temp 0,8: 2 values, but 1 story' --temp 0,8
says '--temp 0.5,1,2: 3 values, but 2 stories' --parallel 2 --temp 0.5,1,2
says '--temp 0.5,1,2: 3 values, but 2 stories' --temp 0.5,1,2 --best-of 2
says '--temp 0.5,warm: it takes 0, or a number in [9.536743e-7, 1.048576e6]' --parallel 2 --temp 0.5,warm
says '--temp -1: a value is outside its range; it takes 0, or a number in [9.536743e-7, 1.048576e6]' --temp -1
says '--temp -1: a value is outside its range; it takes 0, or a number' --parallel 2 --temp 1,-1
says '--top-p 0: a value is outside its range; it takes a number in (0, 1]' --top-p 0
says '--top-k 4.5: it takes a whole number' --top-k 4.5
says '--top-k 99999999999: a value is outside its range; it takes a whole number in [-2147483648, 2147483647]' \
    --top-k 99999999999
says '--rng dice: a value is outside its range; it takes philox or mt19937' --rng dice
says '--order top_k;heat: order: "heat": no sampler has this name; it takes names with ; between, or letters: penalties e, dry d' \
    --order "top_k;heat"
says ', top_p p, min_p m, ' --order "kz"
says '--logit-bias 5: it takes TOKEN+BIAS' --logit-bias 5
says '--heat: no such option' --heat=1
says '--show: takes no value' --show=yes
says '--length 1e3: not a whole number' --length=1e3
says '--temp: it takes 0, or a number' --temp=

# A grammar: the text is one of it, with drafts and side by side too, and only that is written. Regular expressions that
# grep knows say what the three in bench/data allow.
verse='^[a-z]{1,9}( [a-z]{1,9}){2,5}$'
list='^[123][.] (a|the|an old) [a-z]{2,12}( [a-z]{2,12})?$'
hero='^\{"name": "[A-Z][a-z]{1,11}", "age": "(young|old|a hundred years)", "friends": \["(wolf|fox|king)"(, "(wolf|fox|king)"){0,2}\], "tale": "([^"\\]|\\.)*"\}$'
for seed in 1 2 3; do
    for kind in "--rng philox" "--rng mt19937 --draft 3" "--temp 1.5 --min-p 0"; do
        # shellcheck disable=SC2086
        tell --seed $seed --length 400 --grammar bench/data/verse.gbnf $kind > "$dir/verse"
        [ "$(grep -cE "$verse" "$dir/verse")" = 4 ] && [ "$(wc -l < "$dir/verse")" = 4 ] || fail "--grammar verse.gbnf: $(cat "$dir/verse")"
        # shellcheck disable=SC2086
        tell --seed $seed --length 400 --grammar bench/data/list.gbnf $kind > "$dir/list"
        [ "$(grep -cE "$list" "$dir/list")" = 3 ] && [ "$(wc -l < "$dir/list")" = 3 ] || fail "--grammar list.gbnf: $(cat "$dir/list")"
        # shellcheck disable=SC2086
        tell --seed $seed --length 400 --json-schema bench/data/hero.json $kind > "$dir/hero"
        grep -qE "$hero" "$dir/hero" && [ "$(wc -l < "$dir/hero")" = 1 ] || fail "--json-schema hero.json: $(cat "$dir/hero")"
        grep -q 'not complete' "$dir/figures" && fail "complete, and told that it is not"
        if command -v node > /dev/null; then
            node -e 'JSON.parse(require("fs").readFileSync(0, "utf8"))' < "$dir/hero" || fail "no JSON: $(cat "$dir/hero")"
        fi
    done
done
tell --parallel 2 --length 400 --json-schema bench/data/hero.json > "$dir/parallel"
: > "$dir/alone"
for seed in 42 43; do
    [ $seed = 42 ] || echo >> "$dir/alone"
    printf '(seed %s)\n\n' $seed >> "$dir/alone"
    tell --seed $seed --length 400 --json-schema bench/data/hero.json >> "$dir/alone"
done
cmp "$dir/parallel" "$dir/alone" || fail "documents side by side are not those told alone"
# What the grammar forces as a draft: the same document, and at least a third of the steps is saved.
for options in "--seed 1" "--seed 2 --rng mt19937" "--seed 3 --mirostat 2" "--seed 4 --temp 0"; do
    # shellcheck disable=SC2086
    tell $options --length 400 --json-schema bench/data/card.json > "$dir/plain"
    plain=$(steps)
    # shellcheck disable=SC2086
    tell $options --length 400 --json-schema bench/data/card.json --draft grammar > "$dir/drafted"
    cmp "$dir/plain" "$dir/drafted" || fail "$options --draft grammar: another document"
    [ $(($(steps) * 3)) -le $((plain * 2)) ] || fail "$options --draft grammar: $(steps) steps instead of $plain"
done
says '--draft grammar: with --grammar or --json-schema' --draft grammar
says '--draft grammars: not a whole number' --draft grammars

tell --show --length 5 --json-schema bench/data/hero.json > "$dir/show"
grep -q '^1[.] grammar -2047, left 1 of 2048$' "$dir/show" || fail "--show: $(head -n 3 "$dir/show")"
grep -q 'seed 42: its text is not complete' "$dir/figures" || fail "cut, and not told"
printf 'root ::= "a" |\n  [b' > "$dir/bad.gbnf"
printf '{"not": {"$dynamicRef": "#a"}}' > "$dir/bad.json"
says "$dir/bad.gbnf:2:5: " --grammar "$dir/bad.gbnf"
says "$dir/bad.json:1:" --json-schema "$dir/bad.json"
says '/nowhere: No such file' --grammar /nowhere
says '--grammar and --json-schema: only one' --grammar bench/data/list.gbnf --json-schema bench/data/hero.json

# Colours: only on a terminal without NO_COLOR, or when asked for; the words are the same.
escape=$(printf '\033')
tell --length 60 > "$dir/plain"
tell --length 60 --color always > "$dir/colours"
grep -q "$escape\[3" "$dir/colours" || fail "--color always: no colours"
sed "s/$escape\[[0-9]*m//g" "$dir/colours" | cmp - "$dir/plain" || fail "--color always: another story"
grep -q "$escape" "$dir/plain" && fail "colours in a file"
says '--color: auto, always or never' --color red
if command -v script > /dev/null; then
    terminal() { TERM=xterm script -qec "$1" "$dir/typescript" < /dev/null > "$dir/terminal"; }
    terminal "NO_COLOR= $tales --length 20"
    grep -q "$escape\[3" "$dir/terminal" || fail "no colours on a terminal"
    terminal "NO_COLOR=1 $tales --length 20"
    grep -q "$escape" "$dir/terminal" && fail "colours in spite of NO_COLOR"
    # --show: one table, redrawn in place, and the story below it; what is left is that of the last token, as a file has it
    screen() { # what a terminal shows at last: lines, moves up, and what is cleared
        tr -d '\r' < "$dir/terminal" | awk -v e="$escape" '
            { while (match($0, "^" e "\\[[0-9]*[AJ]")) { if (substr($0, RLENGTH, 1) == "A") at -= substr($0, 3, RLENGTH - 3); else n = at
                  $0 = substr($0, RLENGTH + 1) }
              gsub(e "\\[[0-9]*[mK]", ""); line[at++] = $0; if (n < at) n = at }
            END { for (i = 0; i < n; i++) print line[i] }'
    }
    live="--show --length 12 --pause 1"
    terminal "stty rows 30 cols 80; $tales $live"
    screen > "$dir/screen"
    tell --show --length 12 > "$dir/plain"
    tell --length 12 > "$dir/story"
    head -n 1 "$dir/screen" | grep -qx 'token 12 of 12' || fail "--show: $(head -n 3 "$dir/screen")"
    sed -n '/^12[.]/,/^$/p' "$dir/plain" | sed '1d;$d' > "$dir/candidates"
    sed -n '/^     token /,/^$/p' "$dir/screen" | sed '/^$/d' | cmp - "$dir/candidates" || fail "--show: another table"
    awk '/^12[.]/ { gsub(/-/, ""); for (i = 2; $i != "left"; i += 2) print $i, $(i + 1) + 0 }' "$dir/plain" | tr -d , > "$dir/removed"
    awk '$1 == "(the" { on = 1; next } !NF { on = 0 } on && $2 > 0 { gsub(/-/, ""); print $1, $2 }' "$dir/screen" | cmp - "$dir/removed" || fail "--show: others removed"
    grep -A 1000 '^Once upon' "$dir/screen" | sed '/^$/,$d' | cmp - "$dir/story" || fail "--show: another story"
    [ "$(grep -c "$escape\[[0-9]*A" "$dir/terminal")" = 12 ] || fail "--show: not 12 times in place"
    [ "$(grep -c "$escape\[J" "$dir/terminal")" = 13 ] || fail "--show: what stood below is not cleared"
    grep -q "$escape\[3" "$dir/terminal" || fail "--show: no colours"
    grep -q "$escape\[?" "$dir/terminal" && fail "--show: the cursor is hidden"
    # in a small terminal no line wraps and no frame is higher than it; the last is whole
    terminal "stty rows 12 cols 40; $tales --show --length 90 --pause 0 2> /dev/null"
    awk -v e="$escape" '{ gsub(/\r/, ""); if (match($0, "^" e "\\[[0-9]*A") && substr($0, 3, RLENGTH - 3) > 11) exit 1
        gsub(e "\\[[0-9]*[a-zA-Z]", ""); if (length($0) > 39) exit 1 }' "$dir/terminal" || fail "--show: larger than the terminal"
    screen > "$dir/screen"
    grep -A 1000 '^Once upon' "$dir/screen" | tr -s ' \n' '\n\n' > "$dir/lines"
    tell --length 90 | tr -s ' \n' '\n\n' | cmp - "$dir/lines" || fail "--show: not all of the story"
    terminal "stty rows 30 cols 80; NO_COLOR=1 $tales $live"
    grep -q "$escape\[3" "$dir/terminal" && fail "--show: colours in spite of NO_COLOR"
    grep -q "$escape\[[0-9]*A" "$dir/terminal" || fail "--show: not in place with NO_COLOR"
    terminal "TERM=dumb $tales --show --length 12 2> /dev/null"
    tr -d '\r' < "$dir/terminal" | cmp - "$dir/plain" || fail "--show: not plain lines on a terminal that has nothing"
    terminal "stty rows 30 cols 80; timeout --foreground -s INT 1 $tales --show --pause 100" || true
    screen > "$dir/screen"
    grep -q '^[0-9]* tokens in .* model steps' "$dir/screen" || fail "--show, Ctrl-C: $(tail -n 3 "$dir/screen")"
    [ "$(sed -n 's/ tokens in .*//p' "$dir/screen")" = "$(sed -n '1s/token \([0-9]*\) of 200/\1/p' "$dir/screen")" ] || fail "--show, Ctrl-C: another token's table"
    tail -n 2 "$dir/terminal" | sed "s/$escape\[3[0-9]m[a-z 0-9%]*$escape\[0m//g" | grep -q "$escape" && fail "--show, Ctrl-C leaves the terminal unclean"
    # Ctrl-C while a line says how far it is: that line is cleared, the figures follow, and nothing is left on
    terminal "timeout --foreground -s INT 2 $tales --best-of 4 --length 1000000 --color never" || true
    sed 's/\r/\n/g' "$dir/terminal" > "$dir/all_lines" && sed "s/^$escape\[K//" "$dir/all_lines" > "$dir/lines"
    grep -q " of 4000000 tokens, [0-9]* tokens/s$escape\[K" "$dir/lines" || fail "no progress: $(tail -n 3 "$dir/lines")"
    grep -q '^seed 42: log-probability' "$dir/lines" && grep -q ' tokens in .* model steps' "$dir/lines" || fail "Ctrl-C: $(tail -n 5 "$dir/lines")"
    tail -n 5 "$dir/lines" | grep -q "$escape" && fail "Ctrl-C leaves the terminal unclean"
else
    echo "demo: SKIPPED terminals, there is no script"
fi
timeout --foreground -s INT 1 "$tales" --length 1000000 > "$dir/story" 2> "$dir/figures" && fail "a story without end ends"
grep -q '^[0-9]* tokens in [0-9]* model steps' "$dir/figures" || fail "Ctrl-C: no figures: $(cat "$dir/figures")"
[ "$(tail -c 1 "$dir/story" | wc -l)" = 1 ] || fail "Ctrl-C: no end of the line"

# Side by side: either column has the words of the story told alone, with the same seed.
tell --compare --temp 0.5,1.3 --length 120 --draft 2 > "$dir/compare"
[ "$(head -n 1 "$dir/compare" | tr -s ' ')" = '--temp 0.5 | --temp 1.3' ] || fail "--compare: $(head -n 1 "$dir/compare")"
awk 'length != 37 + 3 + length(substr($0, 41)) || substr($0, 38, 3) != " | " { exit 1 }' "$dir/compare" || fail "--compare: not in columns"
for column in "1-37 0.5" "41- 1.3"; do
    tell --temp "${column#* }" --length 120 | tr -s ' \n' '\n\n' > "$dir/alone"
    tail -n +3 "$dir/compare" | cut -c "${column% *}" | tr -s ' \n' '\n\n' | cmp - "$dir/alone" || fail "--compare: not the story told alone with --temp ${column#* }"
done
tell --compare --temp 0.5,1.3 --length 60 --color always | sed "s/$escape\[[0-9]*m//g" > "$dir/colours"
tell --compare --temp 0.5,1.3 --length 60 | cmp - "$dir/colours" || fail "--compare: colours move the columns"
tell --compare --seed 1,2 --length 200 --json-schema bench/data/hero.json > "$dir/compare"
tell --seed 2 --length 200 --json-schema bench/data/hero.json > "$dir/alone"
tail -n +3 "$dir/compare" | cut -c 41- | tr -d '\n' | sed 's/$/\n/' | cmp - "$dir/alone" || fail "--compare: not the document made alone"
says '--compare: give a setting two values' --compare
says '--compare: without --parallel, --best-of and --show' --compare --parallel 2
says '--temp 1,2,3: 3 values, but 2 stories' --compare --temp 1,2,3

# A value may stand behind a '=', and the last of two counts.
tell --temp 0.5 --top-k 7 --length 40 "The wolf" > "$dir/plain"
tell --temp=2,3 --temp=0.5 --top-k=7 --length=40 --prompt="The wolf" > "$dir/equals"
cmp "$dir/plain" "$dir/equals" || fail "--temp=0.5 is not --temp 0.5"

# It finds its model from anywhere: that of the repository that it was built in, or one beside it.
here=$(cd "$(dirname "$tales")" && pwd)
(cd / && "$here/tales" --length 40 "The wolf" > "$dir/far" 2> "$dir/figures") || fail "no model from elsewhere"
tell --length 40 "The wolf" | cmp - "$dir/far" || fail "from elsewhere another story"
mkdir -p "$dir/alone.d"
cp "$tales" bench/data/tales.bin "$dir/alone.d"
(cd "$dir/alone.d" && PATH=. tales --length 40 "The wolf" > ../beside 2> ../figures) || fail "no model beside the program"
cmp "$dir/beside" "$dir/far" || fail "with the model beside it another story"
rm "$dir/alone.d/tales.bin"
if (cd "$dir/alone.d" && ./tales > ../bad 2> ../figures); then fail "a story without a model"; fi
grep -q -e 'tales.bin: No such file.*--model' "$dir/figures" || fail "no model: $(cat "$dir/figures")"
says '/nowhere: ' --model /nowhere
rm -r "$dir/alone.d"

if [ -c /dev/full ] && tell --length 20 > /dev/full; then fail "a full disk is no error"; fi
echo "demo: drafts, parallel stories, columns, colours and a sliding context tell the same stories; bad options are told; Ctrl-C is clean"
