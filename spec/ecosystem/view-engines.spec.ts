import { readFile } from 'node:fs';
import { join } from 'node:path';
import ejs from 'ejs';
import type { Express } from 'express';
import { engine as handlebars } from 'express-handlebars';
import hbs from 'hbs';
import nunjucks from 'nunjucks';
import pug from 'pug';
import { answerErrors, ExpressOracle } from '../support/express-oracle';
import { Folder } from '../support/folder';
import { Running } from '../support/running';

const running = new Running();
const NAMES = ['<Ada>', 'Grace'];

afterEach(() => running.close());

/** A folder of templates, and a program that renders them on each side. */
async function site(files: Readonly<Record<string, string>>, program: (app: Express, views: string) => void): Promise<ExpressOracle> {
  const folder = running.keep(new Folder(files));
  return running.keep(await ExpressOracle.start((app) => {
    app.set('views', folder.path);
    app.locals['site'] = 'Notes';
    program(app, folder.path);
    app.use((_req, res, next) => {
      res.locals['user'] = 'Ada';
      next();
    });
    app.get('/list', (_req, res) => res.render('list', { names: NAMES }));
    app.get('/broken', (_req, res) => res.render('broken', { names: NAMES }));
    app.get('/missing', (_req, res) => res.render('missing'));
    app.use(answerErrors);
  }));
}

/** What each engine is to make of its templates: the page, an error in the template, and the same page again, out of its cache. */
async function expectPage(oracle: ExpressOracle, error: RegExp): Promise<void> {
  for (const _time of [1, 2]) {
    const { status, headers, body } = await oracle.ask('/list');
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(body.replace(/\s*\n\s*/g, '')).toBe('<h1>Notes, Ada</h1><li>&lt;Ada&gt;</li><li>Grace</li>');
  }
  expect(await oracle.ask('/broken')).toMatchObject({ status: 500, body: expect.stringMatching(error) });
  expect(await oracle.ask('/missing')).toMatchObject({ status: 500, body: expect.stringMatching(/Failed to lookup view|template not found/) });
}

test.each([true, false])('EJS, includes and all, with "view cache" %s', async (cached) => {
  await expectPage(await site({
    'list.ejs': '<%- include("parts/head") %><% for (const name of names) { %><li><%= name %></li><% } %>',
    'parts/head.ejs': '<h1><%= site %>, <%= user %></h1>',
    'broken.ejs': '<%= names.absent.x %>',
  }, (app) => app.set('view engine', 'ejs').set('view cache', cached)), /absent|undefined/);
});

test('EJS under another extension, by app.engine', async () => {
  await expectPage(await site({
    'list.html': '<h1><%= site %>, <%= user %></h1><% for (const name of names) { %><li><%= name %></li><% } %>',
    'broken.html': '<% if (names { %>',
  }, (app) => app.engine('html', ejs.renderFile as never).set('view engine', 'html')), /broken|missing|Unexpected/);
});

test.each([true, false])('Pug, extends and mixins and all, with "view cache" %s', async (cached) => {
  await expectPage(await site({
    'list.pug': 'extends layout\n\nmixin item(name)\n  li= name\n\nblock content\n  each name in names\n    +item(name)\n',
    'layout.pug': 'h1 #{site}, #{user}\nblock content\n',
    'broken.pug': 'p= names.absent.x\n',
  }, (app) => app.engine('pug', (pug as unknown as { __express: never }).__express).set('view engine', 'pug').set('view cache', cached)), /broken\.pug|undefined/);
});

test('Handlebars, by hbs: layouts, partials and helpers', async () => {
  hbs.registerPartial('entry', '<li>{{name}}</li>');
  hbs.registerHelper('called', (name: string) => ({ name }));
  await expectPage(await site({
    'layout.hbs': '<h1>{{site}}, {{user}}</h1>{{{body}}}',
    'list.hbs': '{{#each names}}{{#with (called this)}}{{> entry}}{{/with}}{{/each}}',
    'broken.hbs': '{{#if names}}{{/each}}',
  }, (app) => app.set('view engine', 'hbs')), /broken\.hbs|match/);
});

test('Handlebars, by express-handlebars: layouts, partials and helpers', async () => {
  await expectPage(await site({
    'layouts/main.handlebars': '<h1>{{site}}, {{user}}</h1>{{{body}}}',
    'partials/entry.handlebars': '<li>{{name}}</li>',
    'list.handlebars': '{{#each names}}{{#with (called this)}}{{> entry}}{{/with}}{{/each}}',
    'broken.handlebars': '{{#if names}}{{/each}}',
  }, (app) => app.engine('handlebars', handlebars({ helpers: { called: (name: string) => ({ name }) } }) as never).set('view engine', 'handlebars')), /if doesn't match each|Parse error/);
});

test('Nunjucks, which puts a class of its own in the setting "view"', async () => {
  await expectPage(await site({
    'layout.njk': '<h1>{{ site }}, {{ user }}</h1>{% block content %}{% endblock %}',
    'list.njk': '{% extends "layout.njk" %}{% block content %}{% for name in names %}<li>{{ name }}</li>{% endfor %}{% endblock %}',
    'broken.njk': '{% if names %}',
  }, (app, views) => {
    nunjucks.configure(views, { express: app, autoescape: true });
    app.set('view engine', 'njk');
  }), /broken\.njk|unexpected/);
});

test('a plain function, such as those of consolidate', async () => {
  await expectPage(await site({ 'list.txt': '<h1>{site}, {user}</h1>{names}', 'broken.txt': '{absent}' }, (app) => {
    app.engine('.txt', (path, options, callback) => readFile(path, 'utf8', (error, text) => {
      if (error !== null) return callback(error);
      const data = options as Record<string, unknown>;
      try {
        callback(null, text.replace(/\{(\w+)\}/g, (_, name: string) => {
          if (data[name] === undefined) throw new Error(`${name} is absent`);
          return Array.isArray(data[name]) ? data[name].map((one) => `<li>${ejs.escapeXML(String(one))}</li>`).join('') : String(data[name]);
        }));
      } catch (failure) {
        callback(failure);
      }
    }));
    app.set('view engine', 'txt');
  }), /absent is absent/);
});

test('each engine keeps to its own, several in one program', async () => {
  const oracle = await site({ 'a.ejs': 'ejs <%= site %>', 'b.pug': '| pug #{site}', 'c.hbs': 'hbs {{site}}' }, (app) => {
    app.get('/:name', (req, res) => res.render(req.params.name, { layout: false }));
    app.set('views', [join('/nowhere'), app.get('views') as string]);
  });
  for (const [name, body] of [['a.ejs', 'ejs Notes'], ['b.pug', 'pug Notes'], ['c.hbs', 'hbs Notes']]) expect((await oracle.ask(`/${name ?? ''}`)).body).toBe(body);
});
