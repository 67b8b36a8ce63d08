/** The base of the store of every view: who listens, the way to the kernel, timers, the one sentence, and what is read. */

import { Views } from "../answers/guest_views";
import { Kernel, type AskName, type Channel, type Heed } from "../protocol/kernel";
import { type Reply } from "../protocol/protocol";
import { Malformed, Newer } from "../protocol/readers";

const SPEAK = 500;

export abstract class ViewStore {
    readonly kernel: Kernel;
    /** How answers are drawn: by views that came with the program, or that the kernel has on offer. */
    readonly views = new Views(() => this.tell());

    /** Why this page cannot draw what it was sent. */
    problem: string | null = null;
    /** The text to read aloud, once. */
    sentence = "";

    readonly #listeners = new Set<() => void>();
    /** The timers and replies that wait, by their kind: a timer, or an ask whose reply has not come. One of a kind at most. */
    readonly #waiting = new Map<string, { timer: ReturnType<typeof setTimeout> | undefined }>();
    #closed = false;
    readonly #seen = new Map<string, string>();

    constructor() {
        this.kernel = new Kernel(
            () => this.onHealth(),
            (news) => this.onNews(news),
        );
    }

    /** Take in a trait that is there, or ignore one that is none of this store's. */
    protected abstract read(trait: string, value: unknown): void;
    /** The kernel's word on itself when it was asked whether anybody is there; null where nobody is. */
    protected abstract onStatus(reply: Reply | null): void;

    protected onNews(_news: Heed): void {}

    protected onHealth(): void {
        this.tell();
    }

    subscribe(listener: () => void): () => void {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
    }

    attach(channel: Channel): void {
        this.kernel.attach(channel);
        this.probe();
    }

    detach(channel: Channel): void {
        this.kernel.detach(channel);
    }

    /** Nobody looks any more. */
    close(): void {
        this.#closed = true;
        for (const kind of [...this.#waiting.keys()]) this.drop(kind);
        this.#listeners.clear();
    }

    probe(): void {
        void this.kernel.probe().then((reply) => this.onStatus(reply));
    }

    say(sentence: string, delay = SPEAK): void {
        this.later("say", delay, () => {
            this.sentence = sentence;
            this.tell();
        });
    }

    /** Take in a trait. A malformed one is ignored, a later version is named. */
    take(trait: string, value: unknown): void {
        if (value === undefined || value === null || value === "") return;
        if (typeof value === "string") {
            if (this.#seen.get(trait) === value) return;
            this.#seen.set(trait, value);
        }
        this.guard(() => this.read(trait, value));
        this.tell();
    }

    protected tell(): void {
        for (const listener of [...this.#listeners]) listener();
    }

    /** Do this in a while, instead of what waited of this kind. */
    protected later(kind: string, delay: number, act: () => void): void {
        const mine = this.#begin(kind);
        mine.timer = setTimeout(() => {
            if (this.#end(kind, mine)) act();
        }, delay);
    }

    /** Ask the kernel, instead of what waited of this kind. Null where something later of it, or a drop, came before the reply. */
    protected async latest(kind: string, ask: AskName, args: Record<string, unknown>): Promise<Reply | null> {
        const mine = this.#begin(kind);
        const reply = await this.kernel.ask(ask, args);
        return this.#end(kind, mine) ? reply : null;
    }

    /** The wait of this kind is not wanted any more, be it a timer or a reply. */
    protected drop(kind: string): void {
        clearTimeout(this.#waiting.get(kind)?.timer);
        this.#waiting.delete(kind);
    }

    protected waits(kind: string): boolean {
        return this.#waiting.has(kind);
    }

    #begin(kind: string): { timer: ReturnType<typeof setTimeout> | undefined } {
        this.drop(kind);
        const mine = { timer: undefined };
        if (!this.#closed) this.#waiting.set(kind, mine);
        return mine;
    }

    /** Whether this was still waited for; it is not any more. */
    #end(kind: string, mine: object): boolean {
        return this.#waiting.get(kind) === mine && this.#waiting.delete(kind);
    }

    protected guard(act: () => void): void {
        try {
            act();
        } catch (error) {
            if (error instanceof Newer) {
                this.problem =
                    `This page reads version ${error.known} and was sent ${error.message}. Nothing is drawn; ` +
                    "restart the kernel and reload the page, so that both are of one release.";
            } else if (error instanceof Malformed) {
                console.warn(`dpviz: ignored what this page was sent: ${error.message}`);
            } else throw error;
        }
    }
}
