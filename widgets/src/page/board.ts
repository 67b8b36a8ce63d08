/**
 * A view's model as its program sees it. The values that the views of one model show stand on a board, a model of its own, so that they are sent and saved once; long texts come packed. Here they are one model, whose texts can be read.
 *
 * Unpacking takes a moment, so everything is heard in the order in which it came: a reply waits for the text before it.
 */

import { unpacked } from "../protocol/packed";
import type { Model } from "./host";

/** The content of the board. */
const SHOWN = ["sheet", "state", "buffers", "drawn", "result", "lesson", "pulse", "views"];

type Listener = (...args: never[]) => void;

/** As much of a page's model as is used here. */
export interface Source {
    get(name: string): unknown;
    on(name: string, heard: Listener): void;
    off(name: string, heard: Listener): void;
}

/** Stands in a message for what is on the board already. */
const BOARD = "on the board";

const isFields = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
const isPacked = (content: unknown): boolean => isFields(content) && "packed" in content;

export class Opened implements Model {
    readonly #model: Model;
    readonly #board: Source;
    readonly #texts = new Map<string, unknown>();
    readonly #heard = new Map<string, Set<Listener>>();
    readonly #own: (() => void)[] = [];
    /** The earlier messages, where some of them still have to be unpacked. */
    #line: Promise<void> = Promise.resolve();
    #waiting = 0;

    constructor(model: Model, board: Source) {
        this.#model = model;
        this.#board = board;
        for (const name of SHOWN) this.#listen(board, `change:${name}`, () => this.#take(name));
        this.#listen(model, "comm_live_update", () => this.#then(null, () => this.#tell("comm_live_update", [])));
        for (const source of [model, board]) this.#listen(source, "msg:custom", (content, parts) => this.#message(content, parts));
    }

    /** Resolved once all that is shown now can be read. */
    async ready(): Promise<this> {
        for (const name of SHOWN) this.#take(name);
        await this.#line;
        return this;
    }

    get widget_manager(): unknown {
        return this.#model.widget_manager;
    }

    get(name: string): unknown {
        return this.#texts.has(name) ? this.#texts.get(name) : this.#model.get(name);
    }

    send(content: unknown): void {
        this.#model.send(content);
    }

    on(event: string, heard: Listener): void {
        this.#heard.set(event, (this.#heard.get(event) ?? new Set()).add(heard));
    }

    off(event: string, heard: Listener): void {
        this.#heard.get(event)?.delete(heard);
    }

    close(): void {
        for (const leave of this.#own) leave();
        this.#heard.clear();
    }

    #listen(source: Source, event: string, heard: (...args: unknown[]) => void): void {
        source.on(event, heard as Listener);
        this.#own.push(() => source.off(event, heard as Listener));
    }

    #take(name: string): void {
        const value = this.#board.get(name);
        this.#then(value, (text) => {
            this.#texts.set(name, text);
            this.#tell(`change:${name}`, []);
        });
    }

    /** Do this with the readable value: at once, unless something before it is not yet readable. */
    #then(value: unknown, work: (value: unknown) => void): void {
        if (this.#waiting === 0 && !ArrayBuffer.isView(value)) return work(value);
        this.#waiting += 1;
        const before = this.#line;
        this.#line = (async () => {
            const text = await unpacked(value).catch(() => ""); // damaged: nothing can be read
            await before;
            this.#waiting -= 1;
            work(text);
        })();
    }

    /** A long message comes packed: its text is the first of the bytes beside it. */
    #message(content: unknown, parts: unknown): void {
        const beside = Array.isArray(parts) ? (parts as unknown[]) : [];
        if (!isPacked(content)) return this.#then(null, () => this.#tell("msg:custom", [this.#recalled(content), beside]));
        this.#then(beside[0], (text) => {
            try {
                this.#tell("msg:custom", [this.#recalled(JSON.parse(String(text))), beside.slice(1)]);
            } catch (error) {
                if (!(error instanceof SyntaxError)) throw error; // damaged: there is nothing to hear
            }
        });
    }

    /** A message does not say again what stands on the board: it is put back here. */
    #recalled(content: unknown): unknown {
        if (!isFields(content) || !isFields(content["body"])) return content;
        const body = Object.entries(content["body"]).map(([name, value]): [string, unknown] => {
            if (!isFields(value) || value[BOARD] !== name || !SHOWN.includes(name)) return [name, value];
            const { [BOARD]: _, ...later } = value;
            try {
                return [name, { ...(JSON.parse(String(this.#texts.get(name))) as object), ...later }];
            } catch {
                return [name, value]; // damaged: its reader says so
            }
        });
        return { ...content, body: Object.fromEntries(body) };
    }

    #tell(event: string, args: unknown[]): void {
        for (const heard of [...(this.#heard.get(event) ?? [])]) (heard as (...args: unknown[]) => void)(...args);
    }
}
