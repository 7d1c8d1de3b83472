/**
 * A program that does with Redisson what it is told, so that tests in another language can be the other side.
 *
 * <p>Commands come as JSON objects on the standard input, one a line, and each is answered by one line on the standard
 * output, which nothing else writes to:
 *
 * <pre>
 * {"id":1,"op":"open","client":"a","mode":"single","addresses":["redis://127.0.0.1:6379"],"watchdog":3000}
 * {"id":1,"result":"b983c153-7421-469a-addb-44fb92259a1b","millis":412.7}
 * {"id":2,"op":"tryLock","client":"a","thread":"t1","kind":"lock","name":"orders","wait":500,"lease":2000}
 * {"id":2,"result":true,"millis":1.2}
 * {"id":3,"op":"unlock","client":"a","thread":"t2","kind":"lock","name":"orders"}
 * {"id":3,"error":"java.lang.IllegalMonitorStateException: attempt to unlock ...","millis":0.9}
 * </pre>
 *
 * <p>A command is carried out by the thread that it names, which is made at its first use: Redisson knows its holders by
 * their threads. Commands of one thread are carried out in their order, those of different threads at once, so answers
 * come in any order. Times are milliseconds. The program ends with its input.
 */
package peer;
