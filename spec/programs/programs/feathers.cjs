/** A service of Feathers by REST, with hooks, its own errors and a static page. */
const { feathers } = require('@feathersjs/feathers');
const { NotFound } = require('@feathersjs/errors');
const feathersExpress = require('@feathersjs/express');
const { ask, check } = require('../support.cjs');

class Notes {
  notes = [];

  async find({ query }) {
    return this.notes.filter((note) => query.text === undefined || note.text === query.text);
  }

  async get(id) {
    if (this.notes[id] === undefined) throw new NotFound('no such note');
    return this.notes[id];
  }

  async create(note) {
    const made = { ...note, id: this.notes.length };
    this.notes.push(made);
    return made;
  }
}

module.exports = async () => {
  const app = feathersExpress.default(feathers());
  app.use(feathersExpress.json());
  app.use(feathersExpress.urlencoded({ extended: true }));
  app.configure(feathersExpress.rest());
  app.use('notes', new Notes());
  app.use('/:tenant/plain', { async find({ route }) { return [route]; } }, (req, res) => res.json({ own: res.data }));
  app.service('notes').hooks({ before: { create: [async (context) => void (context.data.hooked = true)] } });
  const created = [];
  app.service('notes').on('created', (note) => created.push(note));
  app.get('/route', (req, res) => res.json({ plain: true }));
  app.use(feathersExpress.notFound());
  app.use(feathersExpress.errorHandler({ logger: false, html: false }));
  const server = await app.listen(0);
  const { port } = server.address();
  const found = {
    added: check(await ask(port, '/notes', { json: { text: 'one' } }), 201, '"hooked":true'),
    one: check(await ask(port, '/notes/0'), 200, 'one'),
    some: check(await ask(port, '/notes?text=two'), 200, '[]'),
    missing: check(await ask(port, '/notes/7'), 404, 'no such note'),
    own: check(await ask(port, '/acme/plain'), 200, 'acme'),
    route: check(await ask(port, '/route'), 200, 'plain'),
    method: check(await ask(port, '/notes/0', { method: 'DELETE' }), 405),
    nowhere: check(await ask(port, '/nowhere'), 404),
    created,
  };
  await app.teardown();
  return found;
};
