// Package terminal writes to people: it knows what the output is, how wide it is and whether it has colours, shows names of which
// nobody knows who chose them, lays out tables, and draws a screen over and over.
package terminal
