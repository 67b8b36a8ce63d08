/** A letter for each small number: how sheets write ranks and short steps (`planning/draws.py`). */
export const LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
