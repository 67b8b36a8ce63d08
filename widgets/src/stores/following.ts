/**
 * Whether what is on show is what the ledger says now.
 *
 * The kernel looks at the ledger while somebody looks at the page, and sends a pulse after each look. Where none comes,
 * or it says that the ledger does not answer, what is on show was true when it was last looked at: "as of 02:14". The
 * page asks nothing for this but a status now and then, which tells the kernel that somebody still looks.
 */

import { version, decode, type Entry, type Raise, type State } from "../protocol/protocol";
import { text, maybe, shape, Malformed, Newer } from "../protocol/readers";
import { clock } from "../wording/words";

const SILENCE = 2_000;
const RENEW = 60_000;
const LOOK = 400;

const readPulse = shape({ version, asof: text, fault: maybe(text) });

export class Following {
    /** Why the ledger could not be looked at, in the kernel's words; empty where all is well. */
    fault = "";

    readonly #changed: () => void;
    readonly #renew: () => void;
    #asof = "";
    #heard = 0;
    #renewed = 0;
    #behind = true;
    #users = 0;
    #watch: ReturnType<typeof setInterval> | null = null;

    /** `renew` asks the kernel for the state, and so says that somebody looks. */
    constructor(changed: () => void, renew: () => void) {
        this.#changed = changed;
        this.#renew = renew;
    }

    attach(): void {
        this.#users += 1;
        this.#heard = this.#renewed = Date.now(); // whoever attaches asks for the state, and waits a moment for it
        if (this.#watch !== null) return;
        this.#watch = setInterval(() => this.#look(), LOOK);
        document.addEventListener("visibilitychange", this.#look);
        this.#behind = false;
    }

    detach(): void {
        this.#users -= 1;
        if (this.#users <= 0) this.close();
    }

    close(): void {
        if (this.#watch === null) return;
        clearInterval(this.#watch);
        this.#watch = null;
        document.removeEventListener("visibilitychange", this.#look);
        this.#behind = true;
    }

    /** A pulse of the kernel, or one that was saved with the page. Returns whether it was one. */
    take(value: unknown): boolean {
        try {
            const { asof, fault } = readPulse(decode(value), "pulse");
            this.seen(asof, fault ?? "");
            return true;
        } catch (error) {
            if (error instanceof Malformed || error instanceof Newer) return false;
            throw error;
        }
    }

    /** Record that the state on show was the ledger's word at this time. */
    seen(asof: string, fault = ""): void {
        if (asof > this.#asof) this.#asof = asof; // UTC, in one form: the later text is the later time
        if (this.#users > 0) this.#heard = Date.now();
        const before = this.fault;
        this.fault = fault;
        this.#look();
        if (before !== fault) this.#changed();
    }

    /** When what is on show was true, by the reader's clock; empty where it is true now, or where nobody knows. */
    asof(gone: boolean): string {
        return (gone || this.#behind || this.fault !== "") && this.#asof !== "" ? clock(this.#asof) : "";
    }

    readonly #look = (): void => {
        if (this.#watch === null) return;
        const now = Date.now();
        const behind = now - this.#heard > SILENCE;
        if (behind !== this.#behind) {
            this.#behind = behind;
            this.#changed();
        }
        if (document.visibilityState === "hidden" || now - this.#renewed < (behind ? RENEW / 4 : RENEW)) return;
        this.#renewed = now;
        this.#renew();
    };
}

/** Who did something, and nothing where nobody is named. */
export const by = (person: string | null | undefined): string => (person ? ` by ${person}` : "");

/** Everybody who is named in a ledger. */
export const people = (state: State): Set<string> =>
    new Set([...state.entries, ...(state.raises ?? [])].map(({ person }) => person ?? "").filter((name) => name !== ""));

/** "Ada raised the budget to ε 3: second survey wave". */
export function raised({ person, budget, reason }: Raise): string {
    const to = `the budget ${person ? "" : "was raised "}to ${budget}`;
    return `${person ? `${person} raised ${to}` : to.replace(/^t/, "T")}${reason ? `: ${reason}` : ""}`;
}

const ENDED: Partial<Record<Entry["status"], string>> = {
    done: "is done",
    lost: "never reported back; its price counts as spent",
    cancelled: "was cancelled; its price stays spent",
    failed: "failed; its price stays spent",
};

/** The changes of others to the ledger between two states, as one sentence or two for those who do not see the meter. */
export function news(before: State, after: State): string {
    if (before.kernel !== after.kernel || after.budget === null) return "";
    const old = new Map(before.entries.map((entry) => [entry.number, entry.status]));
    const told = [
        ...(after.raises ?? []).slice(before.raises?.length ?? 0).map((raise) => `${raised(raise)}.`),
        ...after.entries.flatMap((entry) => {
            const was = old.get(entry.number);
            if (was === entry.status) return [];
            const name = `Release ${entry.number}${by(entry.person)}`;
            if (was === undefined) return [`${name}: ε ${entry.price.epsilon} was charged.`];
            const how = ENDED[entry.status];
            return how === undefined ? [] : [`${name} ${how}.`];
        }),
    ];
    if (told.length === 0) return "";
    const { left } = after.budget.rho ?? after.budget.epsilon;
    const sign = after.budget.rho === null ? "" : "ρ ";
    const few = told.length > 3 ? [`The ledger has ${told.length} changes.`] : told;
    return `${few.join(" ")} ${sign}${left} left.`;
}
