"""English by rule, on one engine: word lists and inflection (`lexicon`), a tagger, and what is made of them.

`changes` says where words stand and puts others there; `grammar` bends and denies. On these are built edits
(`caption_edits`, `contrast`, `text_edits`) and what two texts differ in (`differences`, `exchanges`,
`same_words`). A library for inflection would change the edits of runs that exist.
"""
