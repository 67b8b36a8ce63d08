/** A piece of the page: built once, drawn whenever its desk changed or its width did. */
export interface Component {
    readonly element: HTMLElement;
    draw(): void;
    close?(): void;
}
