package outcome

import (
	"errors"
	"strings"
)

// A Redirected is the error of a client that is none of a cluster's and was told to ask another node. It asks
// the same one again, whatever the program waits for.
type Redirected struct{ Err error }

func (r *Redirected) Error() string {
	return "the server is a node of a cluster, and the client is none of a cluster's; make it with " +
		"redis.NewClusterClient: " + r.Err.Error()
}

// Unwrap is what the server said.
func (r *Redirected) Unwrap() error { return r.Err }

// Redirects tells whether the server said that another node of its cluster has the key.
func Redirects(err error) bool {
	reply := said(err)
	return strings.HasPrefix(reply, "MOVED ") || strings.HasPrefix(reply, "ASK ")
}

func isRedirected(err error) bool {
	_, is := errors.AsType[*Redirected](err)
	return is
}
