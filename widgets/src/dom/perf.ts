/** How long a redraw took, from the input event to after the paint, for a browser's benchmark to read. */

export const REDRAW = "dpviz:redraw";

export function timed(event: Event, act: () => void): void {
    const start = event.timeStamp > 0 ? event.timeStamp : performance.now();
    act();
    if (typeof requestAnimationFrame !== "function") return;
    requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = () => {
            performance.measure(REDRAW, { start, end: performance.now() });
            channel.port1.close();
        };
        channel.port2.postMessage(null);
    });
}
