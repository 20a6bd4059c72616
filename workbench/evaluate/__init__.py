"""Every method on one prompt, one grammar and one model: what each does to text, tokens and clock.

In come a model, a grammar and contenders; out come events, measures, exact distributions of finite
languages, counterexamples, and the papers' experiments with a written page of results. What is
left out: other machines' numbers; a paper's figures are quoted beside ours and never mixed in.
"""
