/** Loaded into every peer: tells the runner what the process has used, and ends it when the runner is gone. */
process.on('message', () => process.send({ cpu: process.cpuUsage(), rss: process.memoryUsage.rss() }));
process.on('disconnect', () => process.exit());
