export default function Index() {
  return 'index';
}
