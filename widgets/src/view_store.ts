/** What the store of every view shares: who listens, the way to the kernel, timers, the one sentence, and what is read. */

import { Views } from "./guest_views";
import { Kernel, type Channel, type Heed } from "./kernel";
import { type Reply } from "./protocol";
import { Malformed, Newer } from "./readers";

const SPEAK = 500;

export abstract class ViewStore {
    readonly kernel: Kernel;
    /** How answers are drawn: by views that came with the program, or that the kernel has on offer. */
    readonly views = new Views(() => this.tell());

    /** Why this page cannot draw what it was sent. */
    problem: string | null = null;
    /** What is read aloud, once. */
    sentence = "";

    readonly #listeners = new Set<() => void>();
    readonly #timers = new Map<string, ReturnType<typeof setTimeout>>();
    readonly #seen = new Map<string, string>();

    constructor() {
        this.kernel = new Kernel(
            () => this.onHealth(),
            (news) => this.onNews(news),
        );
    }

    /** Take in a trait that is there, or ignore one that is none of this store's. */
    protected abstract read(trait: string, value: unknown): void;
    /** What the kernel said of itself when it was asked whether anybody is there; null where nobody is. */
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
        for (const timer of this.#timers.values()) clearTimeout(timer);
        this.#timers.clear();
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

    protected later(name: string, delay: number, act: () => void): void {
        this.drop(name);
        this.#timers.set(name, setTimeout(act, delay));
    }

    protected drop(name: string): void {
        clearTimeout(this.#timers.get(name));
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
