// Package roads shows which files a call of a lock goes through: it makes the calls of an rlock in a program that counts
// what it executes. What few programs need has to stay out of everybody's road.
package roads
