// Reads big integers from demo/server.mjs, and sends it some: node demo/numbers-client.mjs [http://localhost:3000]
// json-bigint is a client's choice: the server has none of it. From Node 22 on JSON.stringify with JSON.rawJSON writes the same.
import bigJson from 'json-bigint';

const origin = process.argv[2] ?? `http://localhost:${process.env.PORT || 3000}`;

// What res.xJson sends is a string of digits, which any parser reads whole.
const { grains } = await (await fetch(`${origin}/numbers/bigint`)).json();
console.log(`read: ${BigInt(grains) + 1n}`);

// A bare number has as many digits as it needs; with body.bigint the server reads them all, and answers with a string.
const body = bigJson.stringify({ n: 2n ** 64n, small: 7 });
const answer = await fetch(`${origin}/numbers/echo`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
console.log(`sent: ${body}`);
console.log(`got back: ${answer.status} ${await answer.text()}`);
