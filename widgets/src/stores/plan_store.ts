/**
 * Other plans: the changes of a reader to question, mechanism, parameters and way are sent to the kernel, the latest wins.
 *
 * Changes made while a plan is on its way are merged. Where the kernel refuses a plan, the field that was changed last
 * is told why, and the plan on show stays.
 */

import { SUPERSEDED } from "../protocol/kernel";
import type { Sheet } from "../protocol/protocol";
import { amongOf, limitOf, type Change, type Question, type Wanted } from "./plan";
import { SheetStore } from "./sheet_store";

export abstract class PlanStore extends SheetStore {
    planFault: string | null = null;
    /** The field that was changed where a plan was refused: a parameter, `mechanism`, `way`, `max_bins`, `epsilon`, `among`; empty where it was the question. */
    planFaultAt = "";

    /** The declarations that are open, by their forms: the plan on show is of another question. */
    readonly #declared = new Map<object, string>();
    /** The choices since the plan on show was made and asked for: the fields show it. Null where nothing is asked. */
    #wanted: Wanted | null = null;

    /** A kernel that is gone will not plan: what is chosen is what is on show. */
    protected override onHealth(): void {
        if (this.kernel.health === "gone") {
            this.drop("planned");
            this.#wanted = null;
        }
        super.onHealth();
    }

    protected override onTyped(): void {
        if (this.planFaultAt === "epsilon") this.planFault = null;
    }

    override get asking(): boolean {
        return this.#wanted !== null;
    }

    /** The mechanism that was chosen last, and the value of one of its parameters: on show, or asked for. */
    get mechanism(): string {
        return this.#wanted?.mechanism ?? this.sheet?.mechanism.name ?? "";
    }

    chosenOf(parameter: string): string {
        return (this.#wanted ?? { parameters: Object.fromEntries(this.sheet?.mechanism.parameters ?? []) }).parameters[parameter] ?? "";
    }

    /** The question that was chosen last and is asked for; null where none is but the one on show. */
    get wanted(): Question | null {
        return this.#wanted?.question ?? null;
    }

    /** How the price is shared out among parts: the way that was chosen last, or the one on show; empty where there are no parts. */
    get way(): string {
        return this.#wanted?.way || this.sheet?.way || "";
    }

    /** In how many bins one unit counts: asked for last, or on show; empty where there is no such limit. */
    get maxBins(): string {
        return this.#wanted?.max_bins || (this.sheet?.limit?.now ?? "");
    }

    /** Of how many look-ups at once the plan tells the error, or was asked to; empty where it tells of none. */
    get among(): string {
        return this.#wanted?.among ?? amongOf(this.sheet);
    }

    /** Ask the kernel for a plan; the latest question wins. */
    override async plan(change: Change): Promise<boolean> {
        return (await this.#plan(change)) === true;
    }

    /** As `plan`; null where another was asked for before this one came. */
    async #plan(change: Change): Promise<boolean | null> {
        const sheet = this.sheet;
        if (sheet === null || this.locked) return null;
        this.drop("plan");
        const [merged, typed] = [this.#wanted !== null, this.typed];
        const before: Wanted = this.#wanted ?? {
            question: { id: sheet.question.id },
            mechanism: sheet.mechanism.name,
            parameters: Object.fromEntries(sheet.mechanism.parameters),
            among: amongOf(sheet),
            way: sheet.way ?? "",
            max_bins: limitOf(sheet),
        };
        const mechanism = change.mechanism ?? before.mechanism;
        const other = mechanism !== before.mechanism;
        const parameters = { ...(other ? this.#staying(sheet, mechanism, before.parameters) : before.parameters), ...change.parameters };
        const anew = other || change.question !== undefined; // of another question or mechanism another way may be the best
        const less = { ...(other ? { among: "" } : {}), ...(anew ? { way: "" } : {}), ...(change.question === undefined ? {} : { max_bins: "" }) };
        const { question, among, way, max_bins } = { ...before, ...less, ...change };
        this.#wanted = { question, mechanism, parameters, among, way, max_bins };
        this.touched = false;
        this.planFault = null;
        this.planFaultAt = this.#changed(change);
        this.step({ is: "dismissed" });
        const asked = this.latest("planned", "plan", {
            ...(among === "" ? {} : { among }),
            ...(way === "" ? {} : { way }),
            ...(max_bins === "" ? {} : { max_bins }),
            question,
            mechanism,
            parameters: { ...parameters, epsilon: this.fault === null ? this.typed : (this.point?.epsilon ?? "") },
        });
        this.tell();
        const reply = await asked;
        if (reply === null) return null;
        this.#wanted = null;
        // Of several changes any may be at fault: the last one is asked for alone, and told of by itself.
        if (!reply.ok && merged && reply.error.kind !== SUPERSEDED) return this.#plan(change);
        if (reply.ok) {
            this.take("sheet", reply.body["sheet"]);
            this.sayPlan();
        } else if (reply.error.kind !== SUPERSEDED && (this.planFaultAt !== "epsilon" || typed === this.typed)) {
            this.planFault = reply.error.message; // not of an ε that is chosen no more
        }
        this.tell();
        return reply.ok;
    }

    /** A public fact about the data, such as a cap, stays with a mechanism that takes it, too; some need it. */
    #staying(sheet: Sheet, mechanism: string, parameters: Record<string, string>): Record<string, string> {
        const takes = sheet.mechanisms.find(({ name }) => name === mechanism)?.stays ?? [];
        const stays = sheet.mechanism.choices.filter(({ name, stays }) => stays === true && takes.includes(name) && (parameters[name] ?? "") !== "");
        return Object.fromEntries(stays.map(({ name }) => [name, parameters[name]!]));
    }

    #changed({ question, mechanism, parameters, among, way, max_bins, at }: Change): string {
        if (at !== undefined) return at;
        if (question !== undefined) return "";
        if (mechanism !== undefined) return "mechanism";
        if (way !== undefined) return "way";
        if (max_bins !== undefined) return "max_bins";
        return Object.keys(parameters ?? {})[0] ?? (among === undefined ? "epsilon" : "among");
    }

    /** Take back what was typed into this field: forget why it was refused, and where that is still asked for, ask for what it was. */
    forgive(field: string): void {
        if (this.planFaultAt === field) this.planFault = null;
        const { sheet } = this;
        const was = sheet?.mechanism.parameters.get(field) ?? "";
        if (sheet === null || this.#wanted === null) return this.tell();
        if (field === "max_bins" && this.#wanted.max_bins !== limitOf(sheet)) void this.plan({ max_bins: limitOf(sheet) });
        else if (field === "among" && this.#wanted.among !== amongOf(sheet)) void this.plan({ among: amongOf(sheet) });
        else if (field !== "among" && field !== "max_bins" && this.chosenOf(field) !== was) void this.plan({ parameters: { [field]: was } });
        else this.tell();
    }

    /** Whether a parameter's field holds what was refused: the plan on show is for what stood there before. */
    get misfit(): boolean {
        return this.planFault !== null && !["", "mechanism", "way", "epsilon", "among"].includes(this.planFaultAt);
    }

    /** Why a plan was refused, for the field that was changed. */
    faultOf(field: string): string | null {
        return this.planFaultAt === field ? this.planFault : null;
    }

    /**
     * Plan a question with the mechanism on show, or where that cannot answer it with the first on offer that can.
     * Where none can, why the first of them cannot is told.
     *
     * records  whether it asks for records, which some mechanisms draw, and no other answers
     */
    async planAny(question: Question, records = false): Promise<boolean> {
        const { sheet } = this;
        if (sheet === null) return false;
        const others = sheet.mechanisms.filter(({ name }) => name !== sheet.mechanism.name);
        const on = sheet.mechanisms.find(({ name }) => name === sheet.mechanism.name) ?? { name: sheet.mechanism.name, records: null };
        const fitting = [on, ...others].filter((one) => (one.records === true) === records);
        let fault: string | null = null;
        for (const { name } of fitting) {
            const planned = await this.#plan({ question, mechanism: name });
            if (planned !== false) return planned === true;
            fault ??= this.planFault;
        }
        this.planFault = fault;
        this.tell();
        return false;
    }

    /** Plan a declared question with the mechanism on show; with another one only where that never answers such. */
    planFitting(question: Question, records: boolean): Promise<boolean> {
        const { sheet } = this;
        const on = sheet?.mechanisms.find(({ name }) => name === sheet.mechanism.name);
        return records || on?.records === true ? this.planAny(question, records) : this.plan({ question });
    }

    /** The words for the declaration that is open; empty where none is. */
    get declaring(): string {
        return [...this.#declared.values()].at(-1) ?? "";
    }

    /** Whether the plan on show is of bins that nobody declared. */
    get suggested(): boolean {
        return this.sheet?.suggested === true;
    }

    /** A form was opened to declare this, or closed (null). The plan on show is not what the form says: it cannot be bought. */
    declares(form: object, what: string | null): void {
        if ((this.#declared.get(form) ?? null) === what) return;
        if (what === null) this.#declared.delete(form);
        else this.#declared.set(form, what);
        this.step({ is: "dismissed" });
        this.tell();
    }
}
