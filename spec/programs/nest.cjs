/** A NestJS application: middleware of wildcard paths, GraphQL, static files, its own exceptions. */
const { createRequire } = require('node:module');
const { mkdtempSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { ask, check, decorate } = require('./support.cjs');

module.exports = async (folder) => {
  const from = createRequire(join(module.path, folder, 'any.cjs'));
  from('reflect-metadata');
  const { Controller, Get, Post, Body, Param, Module, NotFoundException, RequestMethod } = from('@nestjs/common');
  const { NestFactory } = from('@nestjs/core');
  const { ServeStaticModule } = from('@nestjs/serve-static');
  const { GraphQLModule, Resolver, Query, Args } = from('@nestjs/graphql');
  const { ApolloDriver } = from('@nestjs/apollo');

  class Cats {
    one(id) {
      if (id === '0') throw new NotFoundException('no such cat');
      return { id };
    }

    add(cat) {
      return { added: cat };
    }

    files(path) {
      return { path };
    }
  }
  Param('id')(Cats.prototype, 'one', 0);
  Body()(Cats.prototype, 'add', 0);
  Param('path')(Cats.prototype, 'files', 0);
  decorate(Cats, 'one', Get(':id'));
  decorate(Cats, 'add', Post());
  decorate(Cats, 'files', Get('files/*path'));
  decorate(Cats, undefined, Controller('cats'));

  class CatQueries {
    cat(id) {
      return `cat ${id}`;
    }
  }
  Args('id')(CatQueries.prototype, 'cat', 0);
  decorate(CatQueries, 'cat', Query('cat'));
  decorate(CatQueries, undefined, Resolver());

  const files = mkdtempSync(join(tmpdir(), 'waypost-nest-'));
  writeFileSync(join(files, 'index.html'), '<p>index</p>');
  writeFileSync(join(files, 'a.txt'), 'a file');

  class App {
    configure(consumer) {
      const mark = (name) => (req, res, next) => {
        res.append('X-Ran', name);
        next();
      };
      consumer.apply(mark('all')).forRoutes('{*splat}');
      consumer.apply(mark('cats')).exclude('cats/2').forRoutes({ path: 'cats/*splat', method: RequestMethod.GET });
      consumer.apply(mark('controller')).forRoutes(Cats);
    }
  }
  decorate(App, undefined, Module({
    imports: [
      ServeStaticModule.forRoot({ rootPath: files, serveRoot: '/static' }),
      GraphQLModule.forRoot({ driver: ApolloDriver, typeDefs: 'type Query { cat(id: ID!): String }', playground: false }),
    ],
    controllers: [Cats],
    providers: [CatQueries],
  }));

  const app = await NestFactory.create(App, { logger: ['error'] });
  app.enableCors();
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address();
  const found = {
    cat: check(await ask(port, '/cats/1'), 200, '{"id":"1"}'),
    ran: (await fetch(`http://127.0.0.1:${port}/cats/1`)).headers.get('X-Ran'),
    excluded: (await fetch(`http://127.0.0.1:${port}/cats/2`)).headers.get('X-Ran'),
    missing: check(await ask(port, '/cats/0'), 404, 'no such cat'),
    added: check(await ask(port, '/cats', { json: { name: 'Tom' } }), 201, 'Tom'),
    malformed: check(await ask(port, '/cats', { method: 'POST', body: '{', headers: { 'Content-Type': 'application/json' } }), 400),
    files: check(await ask(port, '/cats/files/a/b'), 200),
    nowhere: check(await ask(port, '/nowhere'), 404, 'Cannot GET /nowhere'),
    graph: check(await ask(port, '/graphql', { json: { query: '{ cat(id: 7) }' } }), 200, 'cat 7'),
    index: check(await ask(port, '/static/'), 200, 'index'),
    file: check(await ask(port, '/static/a.txt'), 200, 'a file'),
  };
  await app.close();
  return found;
};
