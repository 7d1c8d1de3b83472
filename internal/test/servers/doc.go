// Package servers starts Redis servers on this machine and ends them: one (Start), a master with its replica
// (StartReplicated), a cluster (StartCluster), a master under sentinels (StartSentinel). Each can be stopped, continued,
// killed and restarted while clients use it.
//
//	s, err := servers.Start("--appendonly", "yes")
//	...
//	defer s.Close()
//
// The servers are processes of the program named by REDLATCH_SERVER, else of redis-server on the PATH. They listen on free
// ports of 127.0.0.1, work in folders of their own and end with Close, or with the process that started them.
//
// Tests take them from package redistest, which fails the test where this package returns an error. Programs that judge
// the library use this package as it is; the library itself must not import it.
package servers
