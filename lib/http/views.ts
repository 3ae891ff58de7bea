/** What is said to a program that asks for views. */
export function noViews(call: string): string {
  return `${call}: waypost has no views; render the template with its own package and send the text, such as res.send(await ejs.renderFile(file, data))`;
}
