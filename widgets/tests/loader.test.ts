import { afterEach, beforeEach, expect, test, vi } from "vitest";
import loader from "../src/programs/loader";
import { Host } from "./host";

test.each([
    ["a manager that does not know the program", { get_model: () => Promise.reject(new Error("no such model")) }],
    ["a manager that cannot look models up", {}],
])("%s is told in words", async (_, manager) => {
    const warned = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const host = new Host("workbench", { program: "IPY_MODEL_abc" });
    const el = document.createElement("div");
    const close = await loader.render({ model: Object.assign(host, { widget_manager: manager }) as never, el });
    close();
    expect(el.textContent).toBe("dpviz: the program of this view is not on this page. Run its cell again to draw it.");
    expect(warned).toHaveBeenCalledOnce();
    warned.mockRestore();
});

test("the program that is looked up is the one that the view names", async () => {
    const warned = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const asked: string[] = [];
    const host = new Host("workbench", { program: "IPY_MODEL_abc" });
    const manager = { get_model: (id: string) => Promise.reject(new Error(String(asked.push(id)))) };
    await loader.render({ model: Object.assign(host, { widget_manager: manager }) as never, el: document.createElement("div") });
    expect(asked).toEqual(["abc"]);
    warned.mockRestore();
});

/** A model that holds a program, as a page's manager has it. */
class Held {
    #before: Record<string, string> = {};
    readonly #heard = new Set<() => void>();
    #now: Record<string, string>;

    constructor(now: Record<string, string>) {
        this.#now = now;
    }

    get listeners(): number {
        return this.#heard.size;
    }

    get(name: string): string | undefined {
        return this.#now[name];
    }

    previous(name: string): string | undefined {
        return this.#before[name];
    }

    on(_: string, heard: () => void): void {
        this.#heard.add(heard);
    }

    off(_: string, heard: () => void): void {
        this.#heard.delete(heard);
    }

    set(now: Record<string, string>): void {
        this.#before = this.#now;
        this.#now = now;
        this.#heard.forEach((heard) => heard());
    }
}

const drawing = (words: string): string =>
    `export default { render({ el }) { el.textContent = ${JSON.stringify(words)}; return () => { el.dataset.left = "yes"; }; } }`;
const styles = (): string[] => [...document.head.querySelectorAll("style")].map((one) => one.textContent ?? "");

beforeEach(() => {
    // jsdom runs no module from a blob: a data address holds the same text
    vi.spyOn(globalThis, "Blob").mockImplementation(function (parts?: BlobPart[]) {
        return { text: String(parts?.[0]) } as unknown as Blob;
    } as never);
    URL.createObjectURL = (blob) => `data:text/javascript,${encodeURIComponent((blob as unknown as { text: string }).text)}`;
    URL.revokeObjectURL = () => undefined;
});

afterEach(() => vi.restoreAllMocks());

test("a view that was drawn by a rewritten program is drawn again when the kernel has said the true one", async () => {
    const code = "export default { render({ el }) { el.textContent = 'ε 0, free of charge'; } }"; // says nothing back
    const evil = { code, css: ".dp-release { display: none }" };
    const held = new Held(evil);
    const host = new Host("workbench", { program: "IPY_MODEL_abc" });
    const model = Object.assign(host, { widget_manager: { get_model: () => Promise.resolve(held) } });
    const el = document.createElement("div");
    const close = await loader.render({ model: model as never, el });
    expect(el.textContent).toBe("ε 0, free of charge");
    expect(styles()).toContain(evil.css);
    held.set({ code: drawing("Workbench"), css: ".dpviz { color: black }" });
    await vi.waitFor(() => expect(el.textContent).toBe("Workbench"));
    expect(styles()).not.toContain(evil.css);
    expect(styles()).toContain(".dpviz { color: black }");
    close();
    expect(held.listeners).toBe(0);
});

test("a view whose program was renamed is drawn by the one that the kernel names", async () => {
    const models: Record<string, Held> = {
        evil: new Held({ code: drawing("evil"), css: "" }),
        good: new Held({ code: drawing("good"), css: "" }),
        board: new Held({}),
    };
    const host = new Host("workbench", { program: "IPY_MODEL_evil", board: "IPY_MODEL_board" });
    const manager = { get_model: (id: string) => Promise.resolve(models[id]) };
    const el = document.createElement("div");
    const close = await loader.render({ model: Object.assign(host, { widget_manager: manager }) as never, el });
    expect(el.textContent).toBe("evil");
    host.write("program", "IPY_MODEL_good");
    await vi.waitFor(() => expect(el.textContent).toBe("good"));
    close();
    host.write("program", "IPY_MODEL_evil");
    expect(el.textContent).toBe("good");
});

test("a view that was taken off the page is drawn by nothing that comes later", async () => {
    const [program, bundle] = [drawing("Workbench"), drawing("a guest")].map((code) => new Held({ code, css: "" })) as [Held, Held];
    const host = new Host("workbench", { program: "IPY_MODEL_program", board: "IPY_MODEL_board" });
    let come: () => void = () => undefined;
    const coming = new Promise<Held>((done) => (come = () => done(bundle)));
    const manager = { get_model: (id: string) => (id === "bundle" ? coming : Promise.resolve(id === "program" ? program : new Held({}))) };
    const el = document.createElement("div");
    let brought: Promise<unknown> = Promise.resolve();
    program.set({
        code: `export default { render({ el, bring }) { el.textContent = "drawn"; globalThis.bringing = bring; return () => (el.textContent = "left"); } }`,
        css: "",
    });
    const close = await loader.render({ model: Object.assign(host, { widget_manager: manager }) as never, el });
    brought = (globalThis as unknown as { bringing: (id: string) => Promise<unknown> }).bringing("IPY_MODEL_bundle");
    close();
    come();
    await brought;
    bundle.set({ code: drawing("another guest"), css: "" });
    await new Promise((done) => setTimeout(done));
    await new Promise((done) => setTimeout(done));
    expect(el.textContent).toBe("left");
});
