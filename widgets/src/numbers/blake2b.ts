/** BLAKE2b with a key, in 64 bits: the digest by which a label of any kind becomes a number (RFC 7693). */

const START = [
    0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n,
    0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n,
];

/** The order in which the words of a block are mixed in; rounds 11 and 12 are the first two again. */
const ORDER = [
    "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d",
    "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0",
].map((row) => [...row].map((digit) => parseInt(digit, 16)));

const BLOCK = 128;
const MASK = (1n << 64n) - 1n;
const turned = (word: bigint, by: bigint): bigint => ((word >> by) | (word << (64n - by))) & MASK;

function mix(v: bigint[], [a, b, c, d]: readonly [number, number, number, number], x: bigint, y: bigint): void {
    v[a] = (v[a]! + v[b]! + x) & MASK;
    v[d] = turned(v[d]! ^ v[a]!, 32n);
    v[c] = (v[c]! + v[d]!) & MASK;
    v[b] = turned(v[b]! ^ v[c]!, 24n);
    v[a] = (v[a]! + v[b]! + y) & MASK;
    v[d] = turned(v[d]! ^ v[a]!, 16n);
    v[c] = (v[c]! + v[d]!) & MASK;
    v[b] = turned(v[b]! ^ v[c]!, 63n);
}

const QUARTERS = [
    [0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15],
    [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14],
] as const;

/** The digest of 8 bytes under a key of at most 64, as a whole number, the little end first. */
export function keyedDigest(content: Uint8Array, key: Uint8Array): bigint {
    const padded = new Uint8Array(BLOCK * (1 + Math.ceil(content.length / BLOCK)));
    padded.set(key);
    padded.set(content, BLOCK);
    const words = new DataView(padded.buffer);
    const state = [...START];
    state[0]! ^= 0x01010000n ^ (BigInt(key.length) << 8n) ^ 8n;
    for (let at = 0; at < padded.length; at += BLOCK) {
        const last = at + BLOCK === padded.length;
        const read = last ? BLOCK + content.length : at + BLOCK;
        const block = Array.from({ length: 16 }, (_, i) => words.getBigUint64(at + 8 * i, true));
        const v = [...state, ...START];
        v[12]! ^= BigInt(read);
        if (last) v[14]! ^= MASK;
        for (let round = 0; round < 12; round += 1) {
            const order = ORDER[round % 10]!;
            QUARTERS.forEach((quarter, i) => mix(v, quarter, block[order[2 * i]!]!, block[order[2 * i + 1]!]!));
        }
        for (let i = 0; i < 8; i += 1) state[i]! ^= v[i]! ^ v[i + 8]!;
    }
    return state[0]!;
}
