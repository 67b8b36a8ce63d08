/** A piece of the page: built once, drawn whenever its store changed or its width did. */
export interface Component {
    readonly element: HTMLElement;
    draw(): void;
    close?(): void;
}
