/** Long texts come deflated, as bytes; all others as they are. See `dpviz/widgets/packing.py`. */

export async function unpacked(value: unknown): Promise<unknown> {
    if (!ArrayBuffer.isView(value)) return value;
    const { readable, writable } = new DecompressionStream("deflate");
    const text = new Response(readable).text();
    const writer = writable.getWriter();
    void writer.write(value as BufferSource).catch(() => undefined); // what is no stream is told by its reader
    void writer.close().catch(() => undefined);
    return text;
}
