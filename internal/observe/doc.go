// Package observe tells the observer of a program what happens: of each call that waits its beginning and its
// one end, of each hold its one end, and whatever happens besides.
//
// It also tells the observer, and the log, of a wait and of a hold that last for longer than a program wants:
// see [alarm].
//
// Without an observer there is no [Call] and no [Hold]; both are nil then, and their methods do nothing.
package observe
