"""scikit-learn's conventions without importing scikit-learn: parameters are what the constructor takes."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from fieldcraft.errors import NotFittedError
from fieldcraft.models.parameter_names import check_names, with_setting

Self = TypeVar("Self", bound="Estimator")


class _Signature:
    """The signature of the constructor as that of the class, which ``__new__`` would hide."""

    def __get__(self, instance: Any, owner: type) -> inspect.Signature:
        whole = inspect.signature(owner.__init__)  # type: ignore[misc]
        return whole.replace(parameters=[*whole.parameters.values()][1:])


class Estimator:
    """get_params, set_params, repr, and tags on demand."""

    if not TYPE_CHECKING:  # type checkers read the constructor
        __signature__ = _Signature()

        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            """Unknown names are answered with the right spelling."""
            del args
            if kwargs and not any(p.kind is p.VAR_KEYWORD for p in _parameters(cls)):
                check_names(cls.__name__, kwargs, cls._parameter_names())
            return super().__new__(cls)

    def _keep(self, given: Mapping[str, Any]) -> None:
        """Store the parameters of a constructor, given as its ``locals()``."""
        vars(self).update({name: value for name, value in given.items() if name not in ("self", "__class__")})

    @classmethod
    def _parameter_names(cls) -> list[str]:
        """Named parameters of the constructor; ``*args`` and ``**kwargs`` are none, as in scikit-learn."""
        return [p.name for p in _parameters(cls) if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the constructor with their current values."""
        del deep
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self: Self, **params: Any) -> Self:
        """Set parameters, and settings of those that are objects: ``prior__variance=10``.

        An unknown name raises an InputError.
        """
        known = self._parameter_names()
        stacked = {name: value for name, value in params.items() if name.partition("__")[0] in known}
        check_names(type(self).__name__, {n: v for n, v in params.items() if n not in stacked}, known)
        for name, value in sorted(params.items(), key=lambda item: "__" in item[0]):
            first, below, setting = name.partition("__")
            if below:
                value = with_setting(self, first, setting, value, stacked=name)
            setattr(self, first, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        shown = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != repr(defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags  # type: ignore[import-untyped]

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=False, string=True, dict=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_parameters")

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"this {type(self).__name__} is not trained yet; call fit or load a model first"
            )


def _parameters(kind: type) -> list[inspect.Parameter]:
    """The parameters of a constructor, without ``self``."""
    return [*inspect.signature(kind.__init__).parameters.values()][1:]  # type: ignore[misc]
