// Everything in memory, behind promises as a database would have it.
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

const derive = promisify(scrypt);

export class Store {
  #people = new Map();
  #notes = new Map();
  #last = 0;

  async addPerson(name, password) {
    const key = name.toLowerCase();
    if (this.#people.has(key)) return undefined;
    const salt = randomBytes(16);
    const person = { id: key, name, salt, hash: await derive(password, salt, 32) };
    this.#people.set(key, person);
    return person;
  }

  async findPerson(id) {
    return this.#people.get(id);
  }

  async checkPassword(name, password) {
    const person = this.#people.get(name.toLowerCase());
    if (person === undefined) return undefined;
    return timingSafeEqual(person.hash, await derive(password, person.salt, 32)) ? person : undefined;
  }

  async addNote(owner, { text, tags = [] }) {
    const note = { id: String(++this.#last), owner, text, tags, pictures: [] };
    this.#notes.set(note.id, note);
    return note;
  }

  async findNote(id) {
    return this.#notes.get(id);
  }

  async findNotes(owner, { word = '', tag } = {}) {
    return [...this.#notes.values()].filter((note) => note.owner === owner && note.text.includes(word) && (tag === undefined || note.tags.includes(tag)));
  }

  async removeNote(id) {
    this.#notes.delete(id);
  }
}
