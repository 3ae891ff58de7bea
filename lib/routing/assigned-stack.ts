import type { Era, Looked } from './registration';
import { StackLayer, type StackOwner, watchedLayer } from './stack';

/**
 * A list that a program has assigned to a `stack`. Nothing tells of what it does to the list by the reference that it has kept, so
 * each request looks whether the list is as it was.
 */
export class AssignedStack implements Looked {
  readonly layers: StackLayer[];
  readonly #owner: StackOwner;
  #known: readonly StackLayer[] = [];

  /** @throws TypeError for what can't stand there. */
  constructor(layers: StackLayer[], owner: StackOwner) {
    this.layers = layers;
    this.#owner = owner;
    this.now();
  }

  /** Adds what was registered later. */
  push(layer: StackLayer): void {
    this.layers.push(watchedLayer(layer, this.#owner));
  }

  /** What is in it by now. @throws TypeError for what can't stand there. */
  now(): readonly StackLayer[] {
    if (this.#isAsKnown()) return this.#known;
    const layers = this.layers.filter((layer) => layer instanceof StackLayer);
    for (const layer of layers) watchedLayer(layer, this.#owner);
    return (this.#known = [...this.layers]);
  }

  look(): void {
    if (!this.#isAsKnown()) this.#owner.changed();
  }

  #isAsKnown(): boolean {
    return this.#known.length === this.layers.length && this.#known.every((layer, index) => layer === this.layers[index]);
  }
}

/** The time of a table with such lists in it. */
export class AssignedEra implements Era {
  readonly #era: Era;
  readonly #stacks: readonly Looked[];

  constructor(era: Era, stacks: readonly Looked[]) {
    this.#era = era;
    this.#stacks = stacks;
  }

  get isOver(): boolean {
    if (!this.#era.isOver) for (const stack of this.#stacks) stack.look();
    return this.#era.isOver;
  }

  set isOver(isOver: boolean) {
    this.#era.isOver = isOver;
  }
}
