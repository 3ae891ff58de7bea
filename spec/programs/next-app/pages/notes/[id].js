export default function Note({ id }) {
  return `note ${id}`;
}

export function getServerSideProps({ params }) {
  return { props: { id: params.id } };
}
