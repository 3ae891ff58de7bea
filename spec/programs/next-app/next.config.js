// Two servers of one folder run at once.
export default { distDir: `.next/${process.argv[3]}` };
