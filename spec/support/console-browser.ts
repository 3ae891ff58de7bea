import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { ChildProgram } from './child-program';
import { launchChromium } from './chromium';

/** The name of a host that browsers don't trust as they trust localhost; it leads here. */
export const ELSEWHERE = 'elsewhere.test';

export const PHONE: BrowserContextOptions = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

/** The demo's server and a browser that opens its page. */
export class ConsoleBrowser {
  readonly #contexts: BrowserContext[] = [];
  #complaints: string[] = [];

  private constructor(
    readonly server: ChildProgram,
    readonly browser: Browser,
  ) {}

  static async start(): Promise<ConsoleBrowser> {
    return new ConsoleBrowser(...(await Promise.all([ChildProgram.serve('demo/server.mjs'), launchChromium([`--host-resolver-rules=MAP ${ELSEWHERE} 127.0.0.1`])])));
  }

  async stop(): Promise<void> {
    await this.browser.close();
    await this.server.stop();
  }

  /** Opens the page at a route, for someone who wants no motion. */
  async open(route = '', options: BrowserContextOptions = {}, origin = this.server.origin): Promise<Page> {
    const context = await this.browser.newContext({ locale: 'en', reducedMotion: 'reduce', ...options });
    context.setDefaultTimeout(60_000);
    this.#contexts.push(context);
    const page = await context.newPage();
    page.on('pageerror', (error) => this.#complaints.push(String(error)));
    page.on('console', (message) => {
      // The browser reports every answer of 400 and more.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) this.#complaints.push(message.text());
    });
    await page.goto(`${origin}/#${route}`);
    return page;
  }

  /** Closes all pages, and returns what they complained of: exceptions, and what their policy forbids. */
  async close(): Promise<string[]> {
    await Promise.all(this.#contexts.splice(0).map((context) => context.close()));
    return this.complaints();
  }

  /** What the pages have complained of since this was asked for. */
  complaints(): string[] {
    const complaints = this.#complaints;
    this.#complaints = [];
    return complaints;
  }
}

/** Runs a program of the browser's, with `given` for what it is about. */
export function inPage<T>(page: Page, program: string, given?: unknown): Promise<T> {
  return page.evaluate<T>(`(async (given) => { ${program} })(${JSON.stringify(given) ?? ''})`);
}

/** The routes that the page lists, as it names them. */
export function routesOf(page: Page): Promise<string[]> {
  return inPage(page, "return Array.from(document.querySelectorAll('article'), ({ id }) => id)");
}

/** Goes to another route, and waits until it is shown. */
export async function choose(page: Page, route: string): Promise<void> {
  if (page.url().endsWith(`#${route}`)) return;
  await inPage(page, "location.hash = given; await new Promise((done) => addEventListener('hashchange', done, { once: true }))", route);
}

export async function send(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Send' }).click();
}

/** Waits until the answer's summary says so. */
export async function summary(page: Page, text: string | RegExp): Promise<string> {
  const line = page.locator('.summary').filter({ hasText: text });
  await line.waitFor();
  return line.innerText();
}

/** The body of the answer as it is shown. */
export function bodyOf(page: Page): Promise<string> {
  return page.getByRole('region', { name: 'Response body' }).innerText();
}
