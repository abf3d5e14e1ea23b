// pieces.mjs - the bytes of each token of a tokenizer.json, as pieces.c prints them; a second reader, by JSON.parse.
import { readFileSync } from "node:fs";

const file = JSON.parse(readFileSync(process.argv[2], "utf8"));
const printable = (byte) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
const byteOf = new Map();
for (let byte = 0, next = 256; byte < 256; byte++) byteOf.set(String.fromCodePoint(printable(byte) ? byte : next++), byte);

const { vocab } = file.model;
const pieces = [];
for (const [key, value] of Object.entries(vocab)) pieces[Array.isArray(vocab) ? Number(key) : value] = Array.isArray(vocab) ? value[0] : key;
for (const { id, content, special } of file.added_tokens) pieces[id] = special ? "" : content;
const letters = JSON.stringify(file.decoder).includes("ByteLevel");

function bytes(piece) {
    if (letters) {
        const all = [...piece].map((letter) => byteOf.get(letter));
        return all.includes(undefined) ? Buffer.from(piece) : Buffer.from(all);
    }
    const byte = /^<0x([0-9A-Fa-f]{2})>$/.exec(piece);
    return byte ? Buffer.from(byte[1], "hex") : Buffer.from(piece.replaceAll("\u2581", " "));
}
process.stdout.write(Array.from(pieces, (piece) => bytes(piece ?? "").toString("hex") + "\n").join(""));
