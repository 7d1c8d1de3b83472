// Package examples has no code of its own: its tests run the programs in the folders below, kill them at any moment and
// start them again.
package examples
