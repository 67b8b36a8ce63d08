"""The harness itself, on the smallest widget there is: what JupyterLab, anywidget and the kernel do together."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from tests.browser.lab import Lab, Notebook

WIDGET = '''
import anywidget, threading, time, traitlets

class Echo(anywidget.AnyWidget):
    """A slider that the page owns, and a button that asks the kernel which thread answers."""

    _esm = """
    export default { render({ model, el }) {
        el.innerHTML = `<label>Epsilon <input type="range" min="0" max="10" value="3"></label>
                        <button>Ask</button><output aria-label="answer"></output>`;
        const [range, button, output] = ["input", "button", "output"].map(name => el.querySelector(name));
        let turn = 0;
        el.addEventListener("keydown", event => event.stopPropagation());
        range.addEventListener("input", () => { model.set("position", Number(range.value)); model.save_changes(); });
        button.addEventListener("click", () => { output.textContent = ""; model.send({ turn: ++turn }); });
        model.on("msg:custom", message => { if (message.turn === turn) output.textContent = message.thread; });
    } }
    """
    position = traitlets.Int(3).tag(sync=True)

    def __init__(self):
        super().__init__()
        self.on_msg(lambda _, content, buffers: self.send(content | {"thread": threading.current_thread().name}))

echo = Echo()
echo
'''


def test_a_slider_moved_by_keyboard_is_known_to_the_kernel(lab: Lab, browser: Browser) -> None:
    lab.write("keyboard.ipynb", WIDGET)
    with Notebook.open(lab, browser, "keyboard.ipynb") as notebook:
        notebook.run_all()
        notebook.slider("Epsilon").focus()
        for _ in range(2):
            notebook.page.keyboard.press("ArrowRight")
        expect(notebook.slider("Epsilon")).to_have_value("5")
        notebook.await_answer("print('at', echo.position)", "at 5")
        assert notebook.errors == notebook.offsite == []


def test_after_its_first_message_a_widget_is_answered_while_a_cell_runs(lab: Lab, browser: Browser) -> None:
    lab.write("busy.ipynb", WIDGET)
    with Notebook.open(lab, browser, "busy.ipynb") as notebook:
        answer = notebook.page.get_by_label("answer")
        notebook.run_all()
        notebook.button("Ask").click()
        expect(answer).to_have_text("MainThread")

        def attended() -> bool:
            notebook.button("Ask").click()
            expect(answer).not_to_be_empty()
            return "subshell" in answer.inner_text()

        notebook.until(attended)  # JupyterLab makes the subshell after the first message, in its own time
        notebook.begin(
            "end = time.time() + 600\nprint('it', 'runs', flush=True)\n"
            "while time.time() < end and echo.position == 3: time.sleep(0.01)"
        )
        notebook.until(lambda: any(b"it runs" in message for message in notebook.traffic))
        notebook.button("Ask").click()
        expect(answer).to_contain_text("subshell")
        notebook.slider("Epsilon").focus()
        notebook.page.keyboard.press("ArrowRight")
        notebook.end()
        assert notebook.ask("print(time.time() < end)") == "True\n"


def test_a_restarted_kernel_runs_the_notebook_again(lab: Lab, browser: Browser) -> None:
    lab.write("restart.ipynb", WIDGET)
    with Notebook.open(lab, browser, "restart.ipynb") as notebook:
        notebook.run_all()
        first = notebook.ask("import os; print(os.getpid())")
        notebook.restart()
        assert "'echo' is not defined" in notebook.ask("echo")
        notebook.run_all()
        assert notebook.ask("import os; print(os.getpid())") != first
        notebook.button("Ask").click()
        expect(notebook.page.get_by_label("answer")).not_to_be_empty()
        assert notebook.errors == notebook.offsite == []


def test_a_page_that_fails_or_reaches_out_is_recorded(lab: Lab, browser: Browser) -> None:
    lab.write("reach.ipynb", "from IPython.display import HTML\nHTML('<img src=\"https://example.org/pixel.png\">')")
    with Notebook.open(lab, browser, "reach.ipynb") as notebook:
        notebook.run_all()
        notebook.until(lambda: notebook.errors)
        assert set(notebook.offsite) == {"https://example.org/pixel.png"}
        assert "ERR_NAME_NOT_RESOLVED" in notebook.errors[0]


def test_what_the_kernel_says_to_the_page_is_recorded(lab: Lab, browser: Browser) -> None:
    lab.write("said.ipynb", "print('can' + 'ary')")
    with Notebook.open(lab, browser, "said.ipynb") as notebook:
        notebook.run_all()
        notebook.until(lambda: any(b"canary" in message for message in notebook.traffic))
        assert "canary" in notebook.save()
