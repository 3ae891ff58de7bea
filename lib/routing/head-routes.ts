import type { Layer } from './layer';
import type { Place } from './mount';
import { structureOf } from './pattern-segment';

/** The HEAD routes of an application: a GET route answers HEAD where there is none of the same structure. */
export class HeadRoutes {
  readonly #apart: boolean;
  /** Their structure, or in Express's order the routes themselves. */
  readonly #heads = new Set<string | Place | null>();

  /** @param apart False in Express's order. */
  constructor(apart: boolean) {
    this.#apart = apart;
  }

  /** Takes note of a layer, if it is one of a HEAD route. */
  add({ method, patterns, place }: Layer): void {
    if (method !== 'HEAD') return;
    if (!this.#apart) this.#heads.add(place);
    else for (const { segments } of patterns) this.#heads.add(structureOf(segments));
  }

  /** The layer as it answers a method: a GET route answers HEAD by those of its patterns whose structure no HEAD route has. */
  answering(layer: Layer, method: string): Layer | null {
    if (layer.method === null || layer.method === method) return layer;
    if (method !== 'HEAD' || layer.method !== 'GET') return null;
    if (!this.#apart) return this.#heads.has(layer.place) ? null : layer;
    const patterns = layer.patterns.filter((pattern) => !this.#heads.has(structureOf(pattern.segments)));
    if (patterns.length === layer.patterns.length) return layer;
    return patterns.length === 0 ? null : { ...layer, patterns };
  }
}
