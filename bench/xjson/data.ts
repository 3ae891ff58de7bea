export type Row = Record<string, unknown>;

/** Which rows hold a BigInt; in the others the same digits stand as a string. */
export type Big = 'all' | 'last' | 'none';

function row(id: number): Row {
  return {
    id,
    name: `User number ${id}`,
    email: `user${id}@example.com`,
    active: id % 2 === 0,
    score: id * 1.5,
    balance: String(BigInt(id) * 1_000_000_007n),
    tags: ['alpha', 'beta', 'gamma'],
    address: { city: 'Zürich', zip: '8000' },
    created: '2024-01-01T00:00:00.000Z',
  };
}

/** One small object, of about a hundred bytes. */
export function one(big: Big): Row {
  const { id, name, active, balance } = row(12_345);
  const made = JSON.parse(JSON.stringify({ id, name, active, balance, city: 'Oslo' })) as Row;
  if (big !== 'none') enlarge(made);
  return made;
}

/** Rows whose JSON is about that long; less than one is the small object. */
export function rows(bytes: number, big: Big): Row | Row[] {
  if (bytes <= 100) return one(big);
  const made: Row[] = [];
  for (let length = 0; length < bytes; ) {
    // Parsed, as from a database driver: strings that were joined a moment ago are slower to read.
    const text = JSON.stringify(row(made.length));
    length += text.length + 1;
    const parsed = JSON.parse(text) as Row;
    if (big === 'all') enlarge(parsed);
    made.push(parsed);
  }
  const last = made[made.length - 1];
  if (big === 'last' && last !== undefined) enlarge(last);
  return made;
}

function enlarge(given: Row): void {
  given['balance'] = BigInt(given['balance'] as string);
}
