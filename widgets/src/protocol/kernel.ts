/** Asking the kernel: a few named questions, answers by number, and an honest word on whether anybody is listening. */

import { readMessage, VERSION, type Heard, type Reply } from "./protocol";

export type AskName = "plan" | "after" | "release" | "cancel" | "status" | "show" | "read" | "ask" | "draw" | "table" | "quantiles" | "limit" | "advice" | "move" | "lesson" | "misses" | "forget";

/**
 * `unknown`: not heard from yet. `ready`: it answers. `busy`: an answer is overdue. `gone`: nobody is there, or a
 * kernel that was restarted and does not know this page.
 */
export type Health = "unknown" | "ready" | "busy" | "gone";

/** The report of the page's host on its kernel, where there is one. */
export type HostStatus = "idle" | "busy" | "dead" | "unknown";

export interface Channel {
    send(content: unknown): void;
    status(): HostStatus;
}

export type Heed = Exclude<Heard, { kind: "reply" }>;

const OVERDUE = 1_000;
const HOPELESS = 10_000;
/** After so long without a word the kernel is asked whether it is there: what takes long does not keep it from saying so. */
const SILENT = 3_000;
const LOOK = 250;
const BEAT = 1_000;

/** The kind of a reply that will not come: the widget it was sent through was taken off the page. */
export const LOST = "Lost";

/** The kind of a refusal that says that a later request came first. */
export const SUPERSEDED = "Superseded";

interface Waiting {
    channel: Channel | undefined;
    since: number;
    /** Nobody waits for what it says, only whether it comes. */
    sign: boolean;
    settle: (reply: Reply) => void;
}

export class Kernel {
    health: Health = "gone";
    readonly #channels: Channel[] = [];
    readonly #waiting = new Map<string, Waiting>();
    readonly #changed: () => void;
    readonly #heed: (heard: Heed) => void;
    #watch: ReturnType<typeof setInterval> | null = null;
    #pulse: ReturnType<typeof setInterval> | null = null;
    #lost = false;
    /** The prefix of ids: other pages ask the same kernel. */
    readonly #page = nonce();
    #last = 0;
    #probed = 0;
    #alive = 0;
    #asked = 0;

    constructor(changed: () => void, heed: (heard: Heed) => void) {
        this.#changed = changed;
        this.#heed = heed;
    }

    attach(channel: Channel): void {
        this.#channels.push(channel);
        this.#pulse ??= setInterval(() => this.#beat(), BEAT);
    }

    detach(channel: Channel): void {
        const at = this.#channels.indexOf(channel);
        if (at >= 0) this.#channels.splice(at, 1);
        if (this.#channels.length > 0) return this.#lose(channel);
        if (this.#pulse !== null) clearInterval(this.#pulse);
        this.#pulse = null;
        this.#waiting.clear();
        this.#look();
    }

    /** Ask whether anybody is there: after a mount, a restart, a lost connection. */
    async probe(): Promise<Reply | null> {
        this.#probed = Date.now();
        const gone = this.#host() === "dead";
        // One that went away is gone until it answers: started anew, it does not know this page.
        this.#become(gone || (this.health === "gone" && this.#alive > 0) ? "gone" : "unknown");
        return gone ? null : this.ask("status", {});
    }

    /** The answer may come late, or never: whoever asks checks on its arrival that it is still wanted. */
    ask(name: AskName, args: Record<string, unknown>): Promise<Reply> {
        return this.order(name, args).reply;
    }

    /** As `ask`, with the id of the message: the kernel's state names orders by it, should the reply be lost. */
    order(name: AskName, args: Record<string, unknown>, sign = false): { id: string; reply: Promise<Reply> } {
        this.#last += 1;
        const id = `${this.#page}-${this.#last}`;
        const channel = this.#channels.at(-1);
        const reply = new Promise<Reply>((settle) => this.#waiting.set(id, { channel, since: Date.now(), sign, settle }));
        this.#watch ??= setInterval(() => this.#look(), LOOK);
        try {
            channel?.send({ v: VERSION, id, ask: name, args });
        } catch {
            this.#become("gone"); // the host's connection is closed
        }
        return { id, reply };
    }

    /** Replies come back the way that the question went: with its widget gone, nobody hears them. */
    #lose(channel: Channel): void {
        for (const [id, waiting] of [...this.#waiting]) {
            if (waiting.channel !== channel) continue;
            this.#waiting.delete(id);
            const message = "No reply can come any more: the widget that asked was taken off the page.";
            waiting.settle({ ok: false, error: { kind: LOST, message, value: null, rule: null, next_step: null, fix: null } });
        }
    }

    /** There was a sign of life, though no answer: a kernel that is busy for long is not gone. */
    alive(): void {
        this.#alive = Date.now();
        if (this.health === "gone" && this.#host() !== "dead") this.#become("unknown");
    }

    receive(content: unknown, parts: readonly unknown[] = []): void {
        const heard = readMessage(content, parts);
        if (heard === null) return;
        this.#alive = Date.now();
        if (heard.kind !== "reply") {
            this.#become("ready");
            this.#heed(heard);
            return;
        }
        const waiting = this.#waiting.get(heard.re);
        if (waiting === undefined) return;
        this.#waiting.delete(heard.re);
        if (waiting.sign) this.alive();
        else this.#become("ready");
        waiting.settle(heard.reply);
    }

    /** Notice a kernel that dies, or comes back, while nobody asks it anything. */
    #beat(): void {
        if (this.#host() === "dead") {
            this.#lost = true;
            this.#become("gone");
        } else if (this.#lost) {
            this.#lost = false;
            void this.probe();
        }
    }

    #look(): void {
        if (this.#waiting.size === 0) {
            if (this.#watch !== null) clearInterval(this.#watch);
            this.#watch = null;
            if (this.#channels.length === 0) this.#become("gone");
            return;
        }
        const host = this.#host();
        const oldest = Math.min(...[...this.#waiting.values()].filter(({ sign }) => !sign).map(({ since }) => since));
        const age = Date.now() - Math.max(oldest, this.#probed);
        const silent = Math.min(age, Date.now() - this.#alive);
        if (silent > SILENT && Date.now() - this.#asked > SILENT && host !== "dead" && host !== "busy") {
            this.#asked = Date.now();
            this.order("status", {}, true);
        }
        if (host === "dead" || (silent > HOPELESS && host !== "busy")) this.#become("gone");
        else if (age > OVERDUE) this.#become("busy");
    }

    #host(): HostStatus {
        return this.#channels.at(-1)?.status() ?? "dead";
    }

    #become(health: Health): void {
        if (this.health === health) return;
        this.health = health;
        this.#changed();
    }
}

function nonce(): string {
    const bytes = crypto.getRandomValues(new Uint8Array(6));
    return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
