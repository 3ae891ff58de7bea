import { bytes } from './bytes';
import { churn } from './churn';
import { descriptors } from './descriptors';
import type { Drill } from './drill';
import { halfHead } from './half-head';
import { http2 } from './http2';
import { inflate } from './inflate';
import { pipelines } from './pipelines';
import { refused } from './refused';
import { reset } from './reset';
import { restart } from './restart';
import { rolling } from './rolling';
import { scope } from './scope';
import { unread } from './unread';
import { upload } from './upload';

/** All drills, in the order of their table. */
export const DRILLS: readonly Drill[] = [reset, unread, pipelines, halfHead, restart, upload, descriptors, http2, churn, inflate, refused, bytes, rolling, scope];
