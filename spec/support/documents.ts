import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { examples, read, ROOT } from './document';

const PAGES = readdirSync(resolve(ROOT, 'docs')).filter((file) => file.endsWith('.md')).map((file) => `docs/${file}`);

/** All documents, by their paths from the root. */
export const DOCUMENTS = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'findings/README.md', 'SECURITY.md', 'demo/README.md', 'bench/README.md', 'bench/results/README.md', 'bench/results/costs.md', 'bench/results/xjson.md', ...PAGES];

/** Their programs are run beside one another, and beside Express, by spec/ecosystem/guides.spec.ts. */
const GUIDES = ['docs/from-express.md', 'docs/from-node-http.md'];

/** The programs of all others. */
export const PROGRAMS = DOCUMENTS.filter((file) => !GUIDES.includes(file)).flatMap((file) => examples(read(file)).map((example) => ({ ...example, name: `${file} ${example.name}` })));
